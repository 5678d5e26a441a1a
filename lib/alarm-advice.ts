import { functionOf, type RouteEntry } from '#functions/routes.ts'
import type { StepEntry } from '#functions/steps.ts'
import type { Subscription } from '#functions/subscriptions.ts'
import type { Route } from '#shared/platform/request/route.ts'
import { pascalCase } from './service-function.ts'

/**
 * A CloudWatch Logs Insights query. `group` is the logical id of its log group without the hash. CloudFormation
 * prefixes the id with the name of the stack and then of the nested stack, if any.
 */
export interface LogQuery {
  group: string
  query: string
}

/** The response to an alarm. */
export interface Advice {
  /** The action, in one or two sentences. It is part of the alarm's description. */
  act: string
  queries: readonly LogQuery[]
  /** STACK is the name of the stack, T a tenant. */
  commands: readonly string[]
}

const rollback = 'npm run -s rollback -- --stack STACK'
const lastDeployment = 'If it began with a deployment, roll back with npm run rollback.'

/** Returns advice that starts with the failures that a function logs. */
export function logAdvice(functionName: string, act: string, commands: readonly string[] = []): Advice {
  const query =
    'fields @timestamp, code, fault.name, fault.at.0 | filter level = "ERROR" | sort @timestamp desc'
  return { act, queries: [{ group: `${pascalCase(functionName)}Log`, query }], commands }
}

/** Returns the advice for the alarms of a route: failures, latency and error budget. */
export function adviceOnRoute(entry: RouteEntry) {
  const { route } = entry
  const group = `${pascalCase(functionOf(entry).name)}Log`
  const asked = `filter operation = "${route.operation}"`
  const byCode = `${asked} and status >= 500 | stats count(*) by error_code, fault.name, fault.at.0`
  const single = `${asked} and status >= 500 | fields @timestamp, correlation_id, error_code | sort @timestamp desc`
  const slowest = `${asked} | fields @timestamp, duration_milliseconds, correlation_id | sort duration_milliseconds desc`
  const queries = [byCode, single].map((query) => ({ group, query }))
  const commands = [...commandsOn(route), rollback]
  const advice = (act: string): Advice => ({ act, queries, commands })
  return {
    failing: advice(`See by which error code it fails. ${remedyOf(route)}`),
    slow: {
      act: 'See in the traces whether the table, a service it calls or cold starts take the time.',
      queries: [{ group, query: slowest }],
      commands: [],
    },
    burning: {
      Fast: advice(`Act now: see by which error code it fails. ${remedyOf(route)}`),
      Slow: advice(`Act today, before more goes out: see which error code grew. ${remedyOf(route)}`),
    },
  }
}

/** Returns the remedy for a failing route, by the resources that it uses. */
function remedyOf({ uses }: Route): string {
  if (uses.includes('secret.payments')) {
    return `Check the status of the payment provider. Pay nothing back by hand: the service finishes pending refunds. ${lastDeployment}`
  }
  if (uses.includes('pool.client')) return `Check the health of Cognito. ${lastDeployment}`
  return `Check whether DynamoDB throttles or is unavailable. ${lastDeployment}`
}

function commandsOn({ uses, auth }: Route): string[] {
  return [
    ...(uses.includes('secret.payments') ? ['npm run -s ledger -- --tenant T --stack STACK'] : []),
    ...(uses.includes('secret.webhooks') ? ['npm run -s redrive -- --queue webhooks --stack STACK'] : []),
    ...(auth === 'bearer' ? ['npm run -s audit -- --tenant T --stack STACK'] : []),
  ]
}

/** The advice for an outage of the whole API. */
export const adviceOnApi: Advice = {
  act: `Check on the dashboard which routes fail and with which error codes. Read the AWS Health Dashboard for DynamoDB, Lambda and API Gateway. ${lastDeployment}`,
  queries: [],
  commands: [rollback, 'aws health describe-events --filter eventStatusCodes=open'],
}

/** Returns the advice for the alarms of a function without a route: failures, dead letters and missed runs. */
export function adviceOnConsumer({ name, source }: Subscription) {
  const failing = logAdvice(name, `Find the fault in the log and fix it. ${afterFix(source)}`)
  const notRunning = logAdvice(
    name,
    'Check that its schedule exists and is enabled, and find the fault of its function in the log.',
    ['aws scheduler list-schedules'],
  )
  if (typeof source === 'object' && 'queue' in source) {
    const commands = [`npm run -s redrive -- --queue ${source.queue} --stack STACK`]
    return {
      failing: { ...failing, commands },
      notRunning,
      givenUp: logAdvice(
        name,
        'Fix the fault, then redrive the queue. Duplicates are handled once.',
        commands,
      ),
    }
  }
  const act =
    'Fix the fault, then redrive the stream within 24 hours: the function handles the failed batches again. Older batches are rebuilt from the table. Duplicates are handled once.'
  const commands = [`npm run -s redrive -- --stream ${name} --stack STACK`]
  return { failing, notRunning, givenUp: logAdvice(name, act, commands) }
}

function afterFix(source: Subscription['source']): string {
  if (source === 'every.minute') return 'The next run, within a minute, does the missed work.'
  if (source === 'pool.token')
    return 'If it began with a deployment, deploy the commit before it with -c rollout=bypass.'
  if ('queue' in source) return 'Failed messages wait in its dead-letter queue: redrive it afterwards.'
  return 'Changes wait in the stream of the table for 24 hours and are then handled without further action.'
}

/** Returns the advice for a failing step of the import workflow. */
export function adviceOnStep({ name }: StepEntry): Advice {
  return logAdvice(
    name,
    'Find the fault in the log and fix it. A file whose import failed can be sent again: no row is imported twice.',
    ['aws stepfunctions list-executions --state-machine-arn ARN --status-filter FAILED'],
  )
}
