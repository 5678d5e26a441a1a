import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { build } from 'esbuild'
import { commonOptions } from '#bin/bundle.ts'
import { allReplacements, smallSdk } from '#bin/bundle-sdk.ts'
import type { Replacement } from '#bin/bundle-sdk-replacements.ts'

describe('trimming the SDK', () => {
  const publisher = join(import.meta.dirname, 'sample-publisher.ts')
  const files = join(import.meta.dirname, '../files/sample-files.ts')
  const built = (entry: string, list: readonly Replacement[]) =>
    build({
      ...commonOptions,
      entryPoints: [entry],
      write: false,
      logLevel: 'silent',
      plugins: [smallSdk(list)],
    })
  const trimmed = (module?: string) =>
    built(publisher, module ? [{ module, why: '', code: 'export {}' }] : [])

  test('fails the build when the SDK lacks a module that is to be replaced', async () => {
    const module = '@smithy/core/dist-es/gone.js'
    await expect(trimmed(module)).rejects.toThrow(`${module} is not in the installed package`)
  })

  test('fails the build when the SDK does not import such a module', async () => {
    const module = '@smithy/core/dist-es/submodules/serde/index.browser.js'
    await expect(trimmed(module)).rejects.toThrow(`${module} is no longer imported by its package`)
  })

  test('asks for a module that one client brings where that client is', async () => {
    const module = '@smithy/core/dist-es/submodules/serde/index.browser.js'
    const ofS3 = { module, why: '', code: 'export {}', broughtBy: '@aws-sdk/client-s3' }
    await expect(built(publisher, [...allReplacements, ofS3])).resolves.toBeDefined()
    await expect(built(files, [...allReplacements, ofS3])).rejects.toThrow(
      `${module} is no longer imported by its package`,
    )
  })

  test('fails the build when a module is not what its replacement is made of', async () => {
    const schemas = '@aws-sdk/client-s3/dist-es/schemas/schemas_0.js'
    const without = allReplacements.filter(({ module }) => module !== schemas)
    const given = allReplacements.find(({ module }) => module === schemas) as Replacement
    const code = () => (typeof given.code === 'string' ? given.code : given.code('export var PutObject$ = 1'))
    await expect(built(files, [...without, { ...given, code }])).rejects.toThrow(
      'The schemas of S3 are written otherwise than they were.',
    )
  })

  test('fails the build when a replacement lacks a name that the SDK imports', async () => {
    const module = '@smithy/signature-v4/dist-es/HeaderFormatter.js'
    await expect(trimmed(module)).rejects.toThrow('No matching export')
  })

  test('fails the build when a function has a client that is not trimmed', async () => {
    await expect(trimmed()).rejects.toThrow(
      '@aws-sdk/client-eventbridge/dist-es/runtimeConfig.js is not replaced',
    )
  })

  test('leaves of Stripe what refunds need, and fails the build when its client is made otherwise', async () => {
    const entry = join(import.meta.dirname, '../../shared/refunds/stripe-provider.ts')
    const { outputFiles: [whole] = [] } = await built(entry, [])
    const { outputFiles: [small] = [] } = await built(entry, allReplacements)
    expect((small?.contents.length ?? 0) / (whole?.contents.length ?? 0)).toBeLessThan(0.5)
    const module = 'stripe/esm/stripe.esm.node.js'
    const given = allReplacements.find((one) => one.module === module) as Replacement
    const code = () => (typeof given.code === 'string' ? given.code : given.code('export class Stripe {}'))
    const changed = allReplacements.map((one) => (one === given ? { ...given, code } : one))
    await expect(built(entry, changed)).rejects.toThrow('The client of Stripe is made otherwise than it was')
  })
})
