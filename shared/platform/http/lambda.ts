import middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import type * as v from 'valibot'
import { tokenVerifier } from '../auth/verify-token.ts'
import { newId, systemClock } from '../clock.ts'
import { fail } from '../errors/failure.ts'
import { cursorSeal } from '../listing/cursor.ts'
import { powertoolsLog } from '../logging/log.ts'
import { deployedSettings } from '../settings/deployed.ts'
import { dynamodbClient } from '../table/dynamodb-client.ts'
import { dynamodbTable } from '../table/dynamodb-table.ts'
import { errorAnswer } from './answer.ts'
import { correlationHeaders, correlationOf } from './correlation.ts'
import type { Endpoint } from './endpoint.ts'
import { basePathOf, toRequest, toResult } from './gateway-event.ts'
import { handleRequest, type Runtime } from './handle-request.ts'
import { securityHeaders } from './headers.ts'

/** How a secret is read, where an endpoint needs one: passed in, so that the others do not carry its client. */
export interface LambdaOptions {
  secret?: (arn: string) => Promise<Uint8Array>
}

/** Stops before the function is killed, so that the caller gets an envelope and not a gateway's bare 502. */
const earlyMilliseconds = 300

/** Makes an endpoint a function on AWS. The only file that knows middy. */
export function lambda<Body extends v.GenericSchema>(endpoint: Endpoint<Body>, options: LambdaOptions = {}) {
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
    const response = await handleRequest(endpoint as Endpoint, toRequest(event), runtime)
    return toResult(response, basePathOf(event))
  })
}

/** Everything here is made at its first use: a function that does not list never asks for the secret. */
function startRuntime({ secret }: LambdaOptions): Runtime {
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
    cursorSeal: async () => {
      if (!secret) throw new Error('this function was not given the deployment secret')
      const bytes = await secret(environment('SECRET_ARN')).catch((cause: unknown) => {
        throw fail('DEPENDENCY.unavailable', { cause })
      })
      return cursorSeal(bytes, clock.randomBytes)
    },
  }
}

function environment(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`the environment variable ${name} is missing`)
  return value
}
