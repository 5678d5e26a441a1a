import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { build } from 'esbuild'
import { commonOptions } from '#bin/build/bundle.ts'
import { type Replacement, replacements, smallSdk, unwantedModules } from '#bin/build/small-sdk.ts'
import { savings } from './savings.ts'

describe('trimming the SDKs', () => {
  const publisher = join(import.meta.dirname, 'sample-publisher.ts')
  const refunds = join(import.meta.dirname, '../../shared/refunds/stripe-provider.ts')
  const built = (entry: string, list: readonly Replacement[]) =>
    build({
      ...commonOptions,
      entryPoints: [entry],
      write: false,
      metafile: true,
      logLevel: 'silent',
      plugins: [smallSdk(list)],
    })

  test('each replacement saves at least 3 % of a function', async () => {
    for (const { name, ratio } of await savings()) expect([name, ratio >= 1.03]).toEqual([name, true])
  })

  test('reports parts of the SDK that an upgrade adds again', async () => {
    const { metafile } = await built(publisher, replacements)
    expect(unwantedModules(metafile)).toEqual([])
    const { metafile: whole } = await built(publisher, [])
    expect(unwantedModules(whole)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('@aws-sdk/credential-provider-node'),
        expect.stringContaining('@aws-sdk/client-eventbridge/dist-es/endpoint/bdd.js'),
        expect.stringContaining('shared-ini-file-loader'),
        expect.stringContaining('eventstream-codec'),
      ]),
    )
  })

  test('fails the build if a replacement lacks a name that the SDK imports', async () => {
    const files = join(import.meta.dirname, '../aws/sample-files.ts')
    const empty = replacements.map((one) =>
      one.name === 'event streams' ? { ...one, code: () => 'export {}' } : one,
    )
    await expect(built(files, empty)).rejects.toThrow('No matching export')
  })

  test('fails the build if a function has a client without a host name', async () => {
    const entry = join(import.meta.dirname, '../../bin/commands/rollback.ts')
    await expect(built(entry, replacements)).rejects.toThrow('@aws-sdk/client-lambda has no host name')
  })

  test('keeps the parts of Stripe that refunds need', async () => {
    const { outputFiles: [whole] = [] } = await built(refunds, [])
    const { outputFiles: [small] = [] } = await built(refunds, replacements)
    expect((small?.contents.length ?? 0) / (whole?.contents.length ?? 0)).toBeLessThan(0.5)
  })
})
