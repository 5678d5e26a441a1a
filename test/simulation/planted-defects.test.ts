import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { changedSources } from './defects.ts'
import { takeMistake } from './renew-defects.ts'

const before = `function total(lines: Line[]): number {
  const counted = lines.filter(isCounted)
  if (counted.length === 0) return 0
  return sum(counted)
}
`
const patch = `seed 1: a sum

--- a/total.ts
+++ b/total.ts
@@ -1,5 +1,5 @@
 function total(lines: Line[]): number {
   const counted = lines.filter(isCounted)
   if (counted.length === 0) return 0
-  return sum(counted)
+  return sum(lines)
 }
`

describe('a planted defect', () => {
  const planted = (source: string) => changedSources('wrong-sum', patch, () => source).get('total.ts')

  test('fits lines that have moved, among others that have changed', () => {
    const moved = `import { sum } from './sum.ts'\n\n${before.replace('lines.filter', 'allOf(lines).filter')}`
    expect(planted(moved)).toBe(moved.replace('sum(counted)', 'sum(lines)'))
  })

  test('fits among lines that are all others, if it removes one', () => {
    const rewritten = `const total = (lines) => {\n  const counted = []\n\n  return sum(counted)\n} // total\n`
    expect(planted(rewritten)).toBe(rewritten.replace('sum(counted)', 'sum(lines)'))
  })

  test('is to be renewed if the line that it changes is another one', () => {
    const reworded = before.replace('sum(counted)', 'sumOf(counted)')
    expect(() => planted(reworded)).toThrow('renew this patch: wrong-sum does not apply to total.ts')
  })
})

describe('a renewed patch', () => {
  let folder: string
  const git = (...words: string[]) => execFileSync('git', words, { cwd: folder })
  const file = () => join(folder, 'total.ts')
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'defects-'))
    git('init', '--quiet')
    await writeFile(file(), before)
    git('add', '.')
  })
  afterAll(() => rm(folder, { recursive: true }))

  test('is the mistake that is not staged, which is taken back', async () => {
    await writeFile(file(), before.replace('sum(counted)', 'sum(lines)'))
    expect(`seed 1: a sum\n\n${takeMistake(folder)}`).toBe(patch)
    expect(await readFile(file(), 'utf8')).toBe(before)
  })

  test('needs a mistake', () => {
    expect(() => takeMistake(folder)).toThrow('make the mistake in the source')
  })
})
