import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The feature flags of cdk.json, which the CDK command line passes to the app. */
export function featureFlags(): Record<string, unknown> {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../../cdk.json'), 'utf8')).context
}
