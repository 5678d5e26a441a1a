import { createRequire } from 'node:module'
import { expect, test } from '@jest/globals'
import { featureFlags } from './feature-flags.ts'
import { synthesize } from './synthesis.ts'

const recommended = createRequire(import.meta.url)('aws-cdk-lib/recommended-feature-flags.json')

const { tags } = await synthesize('prod')

test('every feature flag of CDK is configured with the value that CDK recommends', () => {
  expect(featureFlags()).toEqual(recommended)
})

test('the stack has the tag of its resources', () => {
  expect(tags).toEqual({ service: 'commerce' })
})
