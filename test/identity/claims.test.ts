import { describe, expect, test } from '@jest/globals'
import { roleFromClaim } from '#shared/platform/identity/caller.ts'
import { claimAt, claimsWith, textsOf } from '#shared/platform/identity/claims.ts'

describe('the claim at a path', () => {
  const claims = JSON.parse(
    '{"a":{"b":["x"],"c.d/e":1},"a.b":2,"https://a.b/c":"y","list":["x"],"text":"x","__proto__":{"own":true}}',
  )
  test.each<[string[], unknown]>([
    [['a', 'b'], ['x']],
    [['a.b'], 2],
    [['a', 'c.d/e'], 1],
    [['https://a.b/c'], 'y'],
    [['__proto__', 'own'], true],
    [['absent'], undefined],
    [['absent', 'b'], undefined],
    [['a', 'b', '0'], undefined],
    [['list', 'length'], undefined],
    [['text', 'length'], undefined],
    [['constructor'], undefined],
    [['a', 'constructor', 'name'], undefined],
    [['a', '__proto__'], undefined],
  ])('%j is %j', (path, expected) => {
    expect(claimAt(claims, path)).toEqual(expected)
  })

  test('is where a token of the local issuer has it', () => {
    expect(
      claimsWith([
        [['a', 'b'], 1],
        [['a', 'c'], 2],
        [undefined, 3],
      ]),
    ).toEqual({ a: { b: 1, c: 2 } })
  })
})

describe('the texts of a claim', () => {
  test.each<[unknown, string[]]>([
    [' a  b ', ['a', 'b']],
    [
      ['a', 'b c', 1, null, '', ['d']],
      ['a', 'b c'],
    ],
    [{ a: 'b' }, []],
    [undefined, []],
    [1, []],
  ])('%j are %j', (claim, expected) => {
    expect(textsOf(claim)).toEqual(expected)
  })
})

describe('the role of a claim', () => {
  test.each<[unknown, string | undefined]>([
    ['Editor', 'Editor'],
    ['Billing Admin', undefined],
    [['Viewer', 'Admin', 'Editor'], 'Admin'],
    [['Not Admin'], undefined],
    [[['Admin']], undefined],
    ['admin', undefined],
    [{ Admin: true }, undefined],
  ])('%j is %j', (claim, expected) => {
    expect(roleFromClaim(claim)).toBe(expected)
  })
})
