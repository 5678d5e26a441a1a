import middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import type * as v from 'valibot'
import { tokenVerifier } from '../auth/verify-token.ts'
import { newId, systemClock } from '../clock.ts'
import { fail } from '../errors/failure.ts'
import type { FileStore } from '../files/file-store.ts'
import type { Budget } from '../limits/budget.ts'
import { cursorSeal } from '../listing/cursor.ts'
import { powertoolsLog } from '../logging/log.ts'
import { deployedSettings } from '../settings/deployed.ts'
import { dynamodbClient } from '../table/dynamodb-client.ts'
import { dynamodbTable } from '../table/dynamodb-table.ts'
import { errorAnswer } from './answer.ts'
import { correlationHeaders, correlationOf } from './correlation.ts'
import type { Endpoint } from './endpoint.ts'
import { basePathOf, toRequest, toResult } from './gateway-event.ts'
import { handleRequest } from './handle-request.ts'
import { securityHeaders } from './headers.ts'
import type { Runtime } from './passage.ts'

/** How a secret is read, where an endpoint needs one: passed in, so that the others do not carry its client. */
export interface LambdaOptions {
  deploymentSecret?: (arn: string) => Promise<Uint8Array>
  secret?: (arn: string) => Promise<string>
  files?: (bucket: string, budget: Budget) => FileStore
}

/** Stops before the function is killed, so that the caller gets an envelope and not a gateway's bare 502. */
const earlyMilliseconds = 300

/** Makes the endpoints of one method of the gateway a function on AWS. The only file that knows middy. */
export function lambda<Body extends v.GenericSchema>(
  endpoints: Endpoint<Body> | readonly Endpoint[],
  options: LambdaOptions = {},
) {
  const served = (Array.isArray(endpoints) ? endpoints : [endpoints]) as readonly Endpoint[]
  let runtime: Runtime | undefined
  return middy<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context>({
    timeoutEarlyInMillis: earlyMilliseconds,
    timeoutEarlyResponse: () => {
      const correlation = correlationOf({}, () => newId(systemClock))
      const { status, headers, body } = errorAnswer(fail('DEPENDENCY.timeout'), correlation)
      const every = { ...securityHeaders, ...correlationHeaders(correlation), 'Cache-Control': 'no-store' }
      return toResult({ status, headers: { ...headers, ...every }, body })
    },
  }).handler(async (event) => {
    runtime ??= startRuntime(options)
    const response = await handleRequest(served, toRequest(event), runtime)
    return toResult(response, basePathOf(event))
  })
}

/** Everything here is made at its first use: a function that does not list never asks for the secret. */
function startRuntime({ deploymentSecret, secret, files }: LambdaOptions): Runtime {
  const settings = deployedSettings()
  const clock = systemClock
  let tokens: Runtime['tokens'] | undefined
  return {
    settings,
    clock,
    log: powertoolsLog('commerce-api'),
    tokens: {
      verify: (...credentials) => {
        tokens ??= tokenVerifier(settings)
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
    cursorSeal: async () => {
      if (!deploymentSecret) throw new Error('this function was not given the deployment secret')
      const bytes = await deploymentSecret(environment('SECRET_ARN')).catch(unavailable)
      return cursorSeal(bytes, clock.randomBytes)
    },
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
