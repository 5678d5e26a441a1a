import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { build } from 'esbuild'
import { commonOptions } from '#bin/bundle.ts'
import { smallSdk } from '#bin/bundle-sdk.ts'

describe('trimming the SDK', () => {
  const trimmed = (module?: string) =>
    build({
      ...commonOptions,
      entryPoints: [join(import.meta.dirname, 'sample-publisher.ts')],
      write: false,
      logLevel: 'silent',
      plugins: [smallSdk(module ? [{ module, why: '', code: 'export {}' }] : [])],
    })

  test('fails the build when the SDK lacks a module that is to be replaced', async () => {
    const module = '@smithy/core/dist-es/gone.js'
    await expect(trimmed(module)).rejects.toThrow(`${module} is not in the installed AWS SDK`)
  })

  test('fails the build when the SDK does not import such a module', async () => {
    const module = '@smithy/core/dist-es/submodules/serde/index.browser.js'
    await expect(trimmed(module)).rejects.toThrow(`${module} is no longer imported by the AWS SDK`)
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
})
