import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { build } from 'esbuild'
import { commonOptions } from '#bin/build/bundle.ts'
import { type Replacement, replacements, smallSdk, unwantedModules } from '#bin/build/small-sdk.ts'

describe('trimming the SDKs', () => {
  const fileOf = (path: string) => join(import.meta.dirname, path)
  const files = fileOf('../aws/sample-files.ts')
  const built = (entries: string[], list: readonly Replacement[]) =>
    build({
      ...commonOptions,
      entryPoints: entries,
      outdir: 'unwritten',
      write: false,
      metafile: true,
      logLevel: 'silent',
      plugins: [smallSdk(list)],
    })

  test('reports parts of the SDKs that an upgrade adds again', async () => {
    const entries = [files, fileOf('sample-publisher.ts'), fileOf('../../shared/refunds/stripe-provider.ts')]
    const { metafile } = await built(entries, replacements)
    expect(unwantedModules(metafile)).toEqual([])
    const { metafile: whole } = await built(entries, [])
    const parts = [
      '@aws-sdk/credential-provider-node',
      '@aws-sdk/client-eventbridge/dist-es/endpoint/bdd.js',
      'shared-ini-file-loader',
      'eventstream-codec',
      'flexibleChecksumsMiddleware',
      'stripe/esm/resources/Checkout/Sessions.js',
    ]
    expect(unwantedModules(whole)).toEqual(
      expect.arrayContaining(parts.map((part) => expect.stringContaining(part))),
    )
  })

  test('fails the build if a replacement lacks a name that the SDK imports', async () => {
    const empty = replacements.map((one) =>
      one.name === 'event streams' ? { ...one, code: () => 'export {}' } : one,
    )
    await expect(built([files], empty)).rejects.toThrow('No matching export')
  })

  test('fails the build if a function has a client without a host name', async () => {
    const command = fileOf('../../bin/commands/deployment/rollback.ts')
    await expect(built([command], replacements)).rejects.toThrow('@aws-sdk/client-lambda has no host name')
  })
})
