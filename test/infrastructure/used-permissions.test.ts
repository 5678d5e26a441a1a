import { basename } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { build } from 'esbuild'
import { commonOptions } from '#bin/build/bundle.ts'
import { functionOf, routes } from '#functions/routes.ts'
import { functionEntries } from '#lib/function-entries.ts'
import type { Right } from '#lib/rights.ts'
import { localSettings } from '#test/support/settings.ts'
import { declaredUses } from './declared-uses.ts'

/** What the code of each use looks like, in a bundle that is not minified. */
const code: Partial<Record<Right, RegExp>> = {
  'table.read': /\btable\d*\.get\(/,
  'table.read-many': /\btable\d*\.getMany\(/,
  'table.query': /\btable\d*\.(readRange|countRange)\(/,
  'table.find': /\btable\d*\.findById\(/,
  'table.write': /\btable\d*\.put\(|\bitem\b[^;]*\bcondition:/,
  'table.update': /\bupdate: (?!\{)[\w.]+[,(]/,
  'table.delete': /\bremove: [\w.]+[,( ]/,
  'table.check': /\bcheck: (?!\{)[\w.]+\(/,
  'table.insert': /\btable\d*\.insertMany\(/,
}

const throttled = new Set(
  routes
    .filter(({ route }) => route.throttle ?? localSettings['limits.other'][route.operation])
    .map((entry) => functionOf(entry).name),
)
const requests = new Set(routes.map((entry) => functionOf(entry).name))

/** Code that a function contains and never runs. */
const idle: { reason: string; use: Right; of: (name: string) => boolean }[] = [
  {
    reason: 'only a throttled route counts its requests in several windows',
    use: 'table.read-many',
    of: (name) => requests.has(name) && !throttled.has(name),
  },
  {
    reason: 'only a throttled route counts its requests',
    use: 'table.update',
    of: (name) => requests.has(name) && !throttled.has(name),
  },
  {
    reason: 'only a refund is a saga with an entry of pending ones',
    use: 'table.delete',
    of: (name) => requests.has(name) && name !== 'refunds.create',
  },
  {
    reason: 'the route accepts neither an idempotency key nor an API key',
    use: 'table.read',
    of: (name) => ['health.read', 'webhooks.receive'].includes(name),
  },
  {
    reason: 'the route is public, so nothing is denied',
    use: 'table.write',
    of: (name) => name === 'health.read',
  },
]

/** The uses that each adapter other than the table's is for. */
const adapters: Readonly<Record<string, Right[]>> = {
  'platform/aws/s3-files': [
    'files.write',
    'files.link',
    'imports.write',
    'imports.read',
    'rejects.write',
    'rejects.read',
  ],
  'platform/aws/secrets-manager': ['secret.read', 'secret.payments', 'secret.webhooks', 'secret.probe'],
  'platform/aws/event-bridge': ['bus.publish'],
  'platform/aws/ses': ['mail.send'],
  'platform/aws/step-functions': ['imports.start', 'imports.describe'],
  'login/cognito-provider': ['pool.client', 'pool.login'],
}

/** The guard of @aws-lambda-powertools/idempotency, which has a client of its own. */
const ofLibraries: Readonly<Record<string, Right[]>> = { 'otp.send': ['table.update', 'table.delete'] }

const { outputFiles } = await build({
  ...commonOptions,
  minify: false,
  packages: 'external',
  entryPoints: functionEntries(),
  outdir: 'functions',
  write: false,
})
const texts = new Map(outputFiles.map(({ path, text }) => [basename(path, '.mjs'), text]))
const reachable = new Map(
  [...texts].map(([name, text]) => {
    const uses = Object.entries(code).filter(([, pattern]) => pattern.test(text))
    return [name, uses.map(([use]) => use as Right)]
  }),
)

describe.each([...declaredUses()])('%s', (name, uses) => {
  const reached = [...(reachable.get(name) ?? []), ...(ofLibraries[name] ?? [])]

  test('contains code for each access to the table that its role permits', () => {
    const permitted = [...uses].filter((use) => use in code)
    expect(permitted.filter((use) => !reached.includes(use))).toEqual([])
  })

  test('is permitted each access to the table that its code contains, unless that never runs', () => {
    const runs = reached.filter((use) => !idle.some((one) => one.use === use && one.of(name)))
    expect(runs.filter((use) => !uses.has(use))).toEqual([])
  })

  test('contains the other adapters that its role permits to use, and no more', () => {
    const contained = Object.keys(adapters).filter((file) =>
      texts.get(name)?.includes(`// shared/${file}.ts\n`),
    )
    const permitted = Object.keys(adapters).filter((file) => adapters[file]?.some((use) => uses.has(use)))
    // The wrapper of all steps brings the files, which this step does not use.
    const unused = name === 'imports.fail' ? ['platform/aws/s3-files'] : []
    expect(contained.filter((file) => !unused.includes(file))).toEqual(permitted)
  })
})
