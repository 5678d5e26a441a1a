import type { Budget } from '../base/budget.ts'
import { systemClock } from '../base/clock.ts'
import { Failure, fail } from '../base/failure.ts'
import { powertoolsLog } from '../base/log.ts'
import type { SecretRead } from '../base/secrets.ts'
import { deriveKey } from '../base/secrets.ts'
import type { FileStore } from '../formats/file-store.ts'
import { poolIssuer, tokenVerifier } from '../identity/token.ts'
import { cursorSeal } from '../listing/cursor.ts'
import type { Runtime } from '../request/passage.ts'
import { deployedSettings } from './deployed-settings.ts'
import { dynamodbClient, dynamodbTable } from './dynamodb-table.ts'

/** Readers of secrets and files, passed in so that functions without them do not bundle their clients. */
export interface RuntimeOptions {
  deploymentSecret?: (arn: string, reading: SecretRead) => Promise<Uint8Array>
  secret?: (arn: string, reading: SecretRead) => Promise<string>
  files?: (bucket: string, budget: Budget) => FileStore
}

/** Creates everything at its first use: a function that lists nothing never reads the secret. */
export function deployedRuntime(
  { deploymentSecret, secret, files }: RuntimeOptions,
  settings = deployedSettings(),
): Runtime {
  const clock = systemClock
  let tokens: Runtime['tokens'] | undefined
  const ownSecret = async (budget: Budget) => {
    if (!deploymentSecret) throw new Error('this function was not given the deployment secret')
    return deploymentSecret(environment('SECRET_ARN'), { settings, clock, budget }).catch(unavailable)
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
    secret: (name, budget) => {
      if (!secret) throw new Error(`this function was not given the secret ${name}`)
      const arn = environment(`${name.toUpperCase()}_SECRET_ARN`)
      return secret(arn, { settings, clock, budget }).catch(unavailable)
    },
    cursorSeal: async (budget) => cursorSeal(await ownSecret(budget), clock.randomBytes),
    derivedKey: async (purpose, budget) => deriveKey(await ownSecret(budget), purpose),
  }
}

function unavailable(cause: unknown): never {
  throw cause instanceof Failure ? cause : fail('DEPENDENCY.unavailable', { cause })
}

function environment(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`the environment variable ${name} is missing`)
  return value
}
