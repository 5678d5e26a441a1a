import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { otherSettings } from '#test/support/settings.ts'
import { descriptionFiles } from './generated-files.ts'

const root = join(import.meta.dirname, '../..')

describe('npm run generate -- --settings FILE', () => {
  let files: Record<string, string>
  beforeAll(async () => {
    files = await descriptionFiles(otherSettings)
  })
  const openapi = () => JSON.parse(files['openapi.json'] ?? '')

  test('describes the paths of that deployment', () => {
    expect(Object.keys(openapi().paths)).toContain('/codes:change')
  })

  test('describes the statuses of that deployment', () => {
    const { responses } = openapi().paths['/codes/{id}'].patch
    expect(responses['400'].description).toContain('VALIDATION.if_match.required')
    expect(responses).not.toHaveProperty('428')
  })

  test('describes the webhook signature of that deployment', () => {
    const { securitySchemes } = JSON.parse(files['asyncapi.json'] ?? '').components
    expect(securitySchemes.signature.name).toBe(otherSettings['webhooks.scheme'].signatureHeader)
  })

  test('writes the scopes of that deployment into the guide to access', () => {
    expect(files['docs/guides/access.md']).toContain(' `sales`')
  })

  test('writes the times of deliveries of that deployment into the guide to receiving', () => {
    const { 'deliveries.retentionDays': days } = otherSettings
    expect(files['docs/guides/receive.md']).toContain(` ${days} days |`)
  })

  test('writes these files and no other', async () => {
    const local = 'shared/settings/profiles/local.json'
    const values = JSON.parse(await readFile(join(root, local), 'utf8'))
    // Other paths, headers, scopes and times of deliveries.
    const keys = [
      'codes.bulkUpdate',
      'webhooks.scheme',
      'auth.operationScopes',
      'deliveries.timeoutSeconds',
    ] as const
    for (const key of keys) values[key] = otherSettings[key]
    const folder = await mkdtemp(join(tmpdir(), 'generate-'))
    const profile = join(folder, 'profile.json')
    await writeFile(profile, JSON.stringify(values))
    const args = [join(root, 'test/tooling/generate.ts'), '--settings', profile, '--check']
    const checked = promisify(execFile)(process.execPath, args)
    const { stdout } = await checked.catch((failed: { stdout: string }) => failed)
    await rm(folder, { recursive: true })
    const named = Array.from(stdout.matchAll(/^(\S+) is out of date/gm), ([, file]) => file)
    expect(named).toEqual(Object.keys(files))
  })

  describe('makes a client of that deployment', () => {
    let folder: string
    beforeAll(async () => {
      await mkdir(join(root, '.build'), { recursive: true })
      folder = await mkdtemp(join(root, '.build/client-'))
      await cp(join(root, 'client'), folder, {
        recursive: true,
        filter: (path) => path === join(root, 'client') || path.endsWith('.ts'),
      })
      await writeFile(join(folder, 'schema.ts'), files['client/schema.ts'] ?? '')
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))

    test('which has its operations and not those of the local profile', async () => {
      const caller = `
        import { commerceClient } from './commerce-client.ts'
        const client = commerceClient({ baseUrl: 'https://api.example.com', token: () => '' })
        const body = { ids: [], changes: {} }
        client.POST('/codes:change', { body } as never)
        client.POST('/codes:bulkUpdate', { body } as never)`
      await writeFile(join(folder, 'caller.ts'), caller)
      await writeFile(
        join(folder, 'tsconfig.json'),
        JSON.stringify({
          extends: '../../tsconfig.json',
          compilerOptions: { lib: ['es2024', 'dom', 'dom.iterable'], types: [] },
          include: ['*.ts'],
        }),
      )
      const compiler = join(root, 'node_modules/@typescript/native/bin/tsc')
      const compiled = promisify(execFile)(process.execPath, [compiler, '--noEmit', '-p', folder])
      const { stdout } = await compiled.catch((failed: { stdout: string }) => failed)
      expect(stdout.match(/error TS.*/g)).toEqual([expect.stringContaining('"/codes:bulkUpdate"')])
    })
  })
})
