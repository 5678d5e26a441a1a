import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'

interface Token {
  header: { alg: string; kid: string; typ?: string }
  claims: Record<string, unknown> & { iat: number; exp: number }
}
type Changes = Record<string, unknown>

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/guides/identity-provider.md'), 'utf8')
const { privateKey, publicKey } = await generateKeyPair('RS256')
const jwk = await exportJWK(publicKey)

/** The profile lines of a provider, as its section of the page has them. */
function entryOf(name: string) {
  const [, text = ''] = page.match(new RegExp(`## ${name}\n[^#]*?\`\`\`json\n(.*?)\`\`\``, 's')) ?? []
  return JSON.parse(text)
}

/** A token as the provider makes it, issued now. */
function tokenOf(name: string): Token {
  const file = join(import.meta.dirname, 'providers', `${name.toLowerCase()}.json`)
  const { header, claims } = JSON.parse(readFileSync(file, 'utf8')) as Token
  const passed = Math.floor(Date.now() / 1000) - claims.iat
  const times = ['iat', 'exp', 'nbf', 'auth_time'].filter((time) => time in claims)
  const moved = times.map((time) => [time, Number(claims[time]) + passed])
  return { header, claims: { ...claims, ...Object.fromEntries(moved) } }
}

const published = new Map<string, object>()
beforeAll(() => {
  jest
    .spyOn(globalThis, 'fetch')
    .mockImplementation(async (url) => Response.json({ keys: [published.get(String(url))] }))
})
afterAll(() => {
  jest.restoreAllMocks()
})

/** Starts the service with the profile lines of a provider. @returns lists codes with a token that differs */
async function connected(name: string, changes: Changes = {}) {
  const { header, claims } = tokenOf(name)
  const entry = { ...entryOf(name), ...changes }
  published.set(entry.keys.jwks_uri, { ...jwk, kid: header.kid, use: 'sig' })
  const settings = profile('shared/settings/profiles/local.json', {
    'auth.issuers': [entry],
    'discount.cartOwners': entry.issuer,
  })
  const service = await startService({ settings })
  return async (changed: Changes = {}) => {
    const signed = new SignJWT({ ...claims, ...changed }).setProtectedHeader(header)
    const headers = { Authorization: `Bearer ${await signed.sign(privateKey)}` }
    const answer = await service.call({ path: '/codes', headers })
    return [outcome(answer), answer.json.error?.details.claim]
  }
}
const refused = '401 AUTH.invalid_credentials'
const providers = ['Okta', 'Keycloak', 'Auth0', 'Entra', 'Cognito']

test('the page has a section for each provider', () => {
  const sections = Array.from(page.matchAll(/^## (.*)$/gm), ([, title]) => title)
  expect(sections).toEqual(providers)
})

describe.each(providers)('a token of %s', (name) => {
  test('reaches /codes with the profile lines of the page', async () => {
    const list = await connected(name)
    expect(await list()).toEqual(['200', undefined])
  })

  test('is refused for another audience, or without one', async () => {
    const list = await connected(name)
    const path = name === 'Cognito' ? ['client_id'] : ['aud']
    expect(await list({ [String(path)]: 'other' })).toEqual([refused, path])
    expect(await list({ [String(path)]: undefined })).toEqual([refused, path])
    expect(await list({ aud: 'other' })).toEqual([refused, ['aud']])
    expect(await list({ aud: null })).toEqual([refused, ['aud']])
  })

  test('is refused without a time of issue, or if it lives too long', async () => {
    const list = await connected(name)
    expect(await list({ iat: undefined })).toEqual([refused, ['iat']])
    expect(await list({ exp: tokenOf(name).claims.iat + 86_401 })).toEqual([refused, ['exp']])
  })

  test('without a role or scopes is denied, with the path that was looked for', async () => {
    const { claims: paths } = entryOf(name)
    const list = await connected(name, { claims: { ...paths, roles: ['absent', 'roles'] } })
    expect(await list()).toEqual(['403 AUTHZ.role.denied', ['absent', 'roles']])
    const other = await connected(name, { claims: { ...paths, scopes: ['realm_access', 'https://a.b/c'] } })
    // Without scopes, nothing tells an access token from an ID token; those of Cognito say it in token_use.
    const answer = name === 'Cognito' ? '403 AUTHZ.scope.token' : refused
    expect(await other()).toEqual([answer, ['realm_access', 'https://a.b/c']])
  })

  test('acts in the tenants of its issuer only', async () => {
    const { claims: paths } = entryOf(name)
    const list = await connected(name, { tenants: ['acme'] })
    if (!paths.tenant) {
      // The claim is not looked for.
      expect(await list({ tenant: 'globex' })).toEqual(['200', undefined])
      return
    }
    expect(await list()).toEqual(['200', undefined])
    expect(await list({ [paths.tenant[0]]: 'globex' })).toEqual([refused, paths.tenant])
    expect(await list({ [paths.tenant[0]]: undefined })).toEqual([refused, paths.tenant])
  })
})

describe('an ID token', () => {
  test.each([
    ['Okta', { aud: '0oa1gbxqgbTVVeHNB0h8', scp: undefined, jti: 'ID.x', amr: ['pwd'], at_hash: 'x' }],
    ['Okta', { scp: undefined }],
    ['Keycloak', { typ: 'ID', aud: 'backoffice', at_hash: 'x', scope: undefined }],
    ['Auth0', { aud: 'my3DAkmrTzE2aMVwFqc1cX5OM5aRZ8sV', permissions: undefined }],
    ['Entra', { aud: '0b1c2d3e-4f5a-4b6c-8d7e-9f0a1b2c3d4e', scp: undefined }],
    // One registration for the application and the API gives both tokens the same audience.
    ['Entra', { scp: undefined }],
    ['Keycloak', { typ: 'ID', scope: undefined }],
    ['Auth0', { permissions: undefined }],
    ['Cognito', { aud: '4lp1ov2mpmh2cb9i6sqeopckt3', client_id: undefined, token_use: 'id' }],
  ])('of %s with %j is refused', async (name, changes) => {
    const list = await connected(name)
    expect((await list(changes))[0]).toBe(refused)
  })
})
