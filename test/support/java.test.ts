import { expect, test } from '@jest/globals'
import { mirrorOfCentral } from './java.ts'

const settings = (...mirrors: string[]) => `<settings><mirrors>${mirrors.join('\n')}</mirrors></settings>`
const mirror = (of: string, url: string) => `<mirror>
  <id>office</id>
  <mirrorOf>${of}</mirrorOf>
  <url> ${url} </url>
</mirror>`
const office = 'https://maven.example/central'

test.each(['*', 'central', 'external:*', 'snapshots, central', '*,!snapshots'])(
  'takes the mirror of %s for Maven Central',
  (of) => {
    const others = mirror('snapshots', 'https://maven.example/snapshots')
    expect(mirrorOfCentral(settings(others, mirror(of, office)))).toBe(office)
  },
)

test.each(['snapshots', '*,!central', 'central-of-others'])('does not take the mirror of %s', (of) => {
  expect(mirrorOfCentral(settings(mirror(of, office)))).toBeUndefined()
})

test('does not take a mirror in a comment', () => {
  expect(mirrorOfCentral(settings(`<!-- ${mirror('*', office)} -->`))).toBeUndefined()
})

test('needs no settings', () => {
  expect(mirrorOfCentral('')).toBeUndefined()
})
