import { basename } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { build } from 'esbuild'
import { commonOptions } from '#bin/build/bundle.ts'
import { functionOf, routes } from '#functions/routes.ts'
import type { Right } from '#lib/access/rights.ts'
import { entryPoints } from '#lib/functions/function-names.ts'
import { keyNames } from '#shared/platform/base/secrets.ts'
import type { PartitionKind } from '#shared/platform/table/keys.ts'
import type { TableCall } from '#shared/platform/table/table.ts'
import { localSettings } from '#test/support/settings.ts'
import { declaredUses } from './declared-uses.ts'

/** What the code of each call of the table looks like, in a bundle that is not minified. */
const code: Record<TableCall, RegExp> = {
  get: /\btable\d*\.get\(/,
  getMany: /\btable\d*\.getMany\(/,
  query: /\btable\d*\.readRange\(/,
  find: /\btable\d*\.findById\(/,
  put: /\btable\d*\.put\(|\bitem\b[^;]*\bcondition:/,
  update: /\bupdate: (?!\{)[\w.]+[,(]/,
  delete: /\bremove: [\w.]+[,( ]/,
  check: /\bcheck: (?!\{)[\w.]+\(/,
  insert: /\btable\d*\.insertMany\(/,
}

const throttled = new Set(
  routes
    .filter(({ route }) => route.throttle ?? localSettings['limits.other'][route.operation])
    .map((entry) => functionOf(entry).name),
)
const requests = new Set(routes.map((entry) => functionOf(entry).name))

/** Code that a function contains and never runs. */
const idle: { reason: string; call: TableCall; of: (name: string) => boolean }[] = [
  {
    reason: 'only a throttled route counts its requests in several windows',
    call: 'getMany',
    of: (name) => requests.has(name) && !throttled.has(name),
  },
  {
    reason: 'only a throttled route counts its requests',
    call: 'update',
    of: (name) => requests.has(name) && !throttled.has(name),
  },
  {
    reason: 'only a refund is a saga with an entry of pending ones',
    call: 'delete',
    of: (name) => requests.has(name) && name !== 'refunds.create',
  },
  {
    reason: 'the route accepts neither an idempotency key nor an API key',
    call: 'get',
    of: (name) => ['health.read', 'webhooks.receive', 'webhooks.receive-stripe'].includes(name),
  },
  {
    reason: 'the route reads the shapes of handled events, next to which their handlers stand',
    call: 'find',
    of: (name) => name === 'webhooks.receive',
  },
  {
    reason: 'the route is public, so nothing is denied',
    call: 'put',
    of: (name) => name === 'health.read',
  },
]

/** What the code of a read of a secret looks like: each names its secret. */
const secretRead = /\b(?:derivedKey|versionedKey|secret)\d*\("(\w+)"/g

/**
 * Secrets that the platform reads for some routes only: it hashes the network of a caller that is counted, and parts of
 * a request without a caller.
 */
const idleSecrets: Readonly<Record<string, (name: string) => boolean>> = {
  hashes: (name) => requests.has(name) && !hashing.has(name),
  webhooks: (name) => requests.has(name) && name !== 'webhooks.receive',
}
const hashing = new Set(
  routes
    .filter(
      ({ route: { operation, auth, idempotency, throttle } }) =>
        throttle ??
        (localSettings['limits.other'][operation]?.some(({ per }) => per === 'source') ||
          (auth === 'none' && idempotency !== 'none')),
    )
    .map((entry) => functionOf(entry).name),
)

/** The uses that each adapter is for. */
const adapters: Readonly<Record<string, Right[]>> = {
  'platform/aws/s3-files': [
    'files.write',
    'files.link',
    'imports.write',
    'imports.read',
    'rejects.write',
    'rejects.read',
  ],
  'platform/aws/secrets-manager': [
    ...keyNames.map((name): Right => `secret.${name}`),
    'secret.payments',
    'secret.webhooks',
    'secret.stripe_webhooks',
    'secret.probe',
  ],
  'platform/aws/event-bridge': ['bus.publish'],
  'platform/aws/ses': ['mail.send'],
  'platform/aws/step-functions': ['imports.start', 'imports.describe'],
  'login/cognito-provider': ['pool.client', 'pool.login'],
}

/** The guard of @aws-lambda-powertools/idempotency, which has a client of its own. */
const ofLibraries: Readonly<Record<string, TableCall[]>> = { 'otp.send': ['update', 'delete'] }

/** Items whose key is stored in another item: an entry of a saga holds that of its idempotency record. */
const byStoredKey: Readonly<Record<string, PartitionKind[]>> = { 'sagas.finish': ['idempotency'] }

const { outputFiles } = await build({
  ...commonOptions,
  minify: false,
  packages: 'external',
  entryPoints: entryPoints(),
  outdir: 'functions',
  write: false,
})
const texts = new Map(outputFiles.map(({ path, text }) => [basename(path, '.mjs'), text]))
const reachable = new Map(
  [...texts].map(([name, text]) => {
    const calls = Object.entries(code).filter(([, pattern]) => pattern.test(text))
    return [name, calls.map(([call]) => call as TableCall)]
  }),
)

describe.each([...declaredUses()])('%s', (name, { uses, table }) => {
  const reached = [...(reachable.get(name) ?? []), ...(ofLibraries[name] ?? [])]

  test('contains code for each call of the table that it declares', () => {
    const declared = Object.keys(table) as TableCall[]
    expect(declared.filter((call) => !reached.includes(call))).toEqual([])
  })

  test('declares each call of the table that its code contains, unless that never runs', () => {
    const runs = reached.filter((one) => !idle.some(({ call, of }) => call === one && of(name)))
    expect(runs.filter((call) => !table[call])).toEqual([])
  })

  test('contains code that names each kind of items that it declares', () => {
    const kinds = Object.values(table)
      .flat()
      .filter((kind) => !byStoredKey[name]?.includes(kind))
    const isNamed = (kind: string) => new RegExp(`["'\`]${kind}["'\`#]`).test(withoutDeclarations(name))
    expect(kinds.filter((kind) => !isNamed(kind))).toEqual([])
  })

  test('reads each secret that its role permits to read, and no more', () => {
    const read = new Set(
      Array.from(texts.get(name)?.matchAll(secretRead) ?? [], ([, secret]) => String(secret)),
    )
    const runs = [...read].filter((secret) => !idleSecrets[secret]?.(name))
    expect(runs.map((secret) => `secret.${secret}`).sort()).toEqual(
      [...uses].filter((use) => use.startsWith('secret.')).sort(),
    )
  })

  test('contains the other adapters that its role permits to use, and no more', () => {
    const contained = Object.keys(adapters).filter((file) =>
      texts.get(name)?.includes(`// shared/${file}.ts\n`),
    )
    const permitted = Object.keys(adapters).filter((file) => adapters[file]?.some((use) => uses.has(use)))
    expect(contained).toEqual(permitted)
  })
})

/** Returns the code of a function without what its route declares to do with the table. */
function withoutDeclarations(name: string): string {
  const calls = Object.keys(code).join('|')
  return (texts.get(name) ?? '').replace(new RegExp(`\\b(${calls}): \\[[^\\]]*\\]`, 'g'), '')
}
