import { poolIssuer } from '../auth/pool-issuer.ts'
import { tokenVerifier } from '../auth/verify-token.ts'
import { systemClock } from '../clock.ts'
import { fail } from '../errors/failure.ts'
import type { FileStore } from '../files/file-store.ts'
import type { Budget } from '../limits/budget.ts'
import { cursorSeal } from '../listing/cursor.ts'
import { powertoolsLog } from '../logging/log.ts'
import { deriveKey } from '../secrets/derived-key.ts'
import { deployedSettings } from '../settings/deployed.ts'
import { dynamodbClient } from '../table/dynamodb-client.ts'
import { dynamodbTable } from '../table/dynamodb-table.ts'
import type { Runtime } from './passage.ts'

/** How a secret is read, where an endpoint needs one: passed in, so that the others do not carry its client. */
export interface RuntimeOptions {
  deploymentSecret?: (arn: string) => Promise<Uint8Array>
  secret?: (arn: string) => Promise<string>
  files?: (bucket: string, budget: Budget) => FileStore
}

/** Everything here is made at its first use: a function that does not list never asks for the secret. */
export function deployedRuntime({ deploymentSecret, secret, files }: RuntimeOptions): Runtime {
  const settings = deployedSettings()
  const clock = systemClock
  let tokens: Runtime['tokens'] | undefined
  const ownSecret = async () => {
    if (!deploymentSecret) throw new Error('this function was not given the deployment secret')
    return deploymentSecret(environment('SECRET_ARN')).catch(unavailable)
  }
  return {
    settings,
    clock,
    log: powertoolsLog('commerce-api'),
    tokens: {
      verify: (...credentials) => {
        tokens ??= tokenVerifier(settings, poolIssuer(process.env))
        return tokens.verify(...credentials)
      },
    },
    openTable: (budget) => dynamodbTable(dynamodbClient(), environment('TABLE_NAME'), clock, budget),
    openFiles: (budget) => {
      if (!files) throw new Error('this function was not given the files')
      return files(environment('FILES_BUCKET'), budget)
    },
    secret: (name) => {
      if (!secret) throw new Error(`this function was not given the secret ${name}`)
      return secret(environment(`${name.toUpperCase()}_SECRET_ARN`)).catch(unavailable)
    },
    cursorSeal: async () => cursorSeal(await ownSecret(), clock.randomBytes),
    derivedKey: async (purpose) => deriveKey(await ownSecret(), purpose),
  }
}

function unavailable(cause: unknown): never {
  throw fail('DEPENDENCY.unavailable', { cause })
}

function environment(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`the environment variable ${name} is missing`)
  return value
}
