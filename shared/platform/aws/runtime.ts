import type { Context } from 'aws-lambda'
import type { Settings } from '../../settings/register.ts'
import { lazy, processMemory } from '../base/cached-load.ts'
import { type Budget, type Clock, systemClock } from '../base/clock.ts'
import { Failure, fail } from '../base/failure.ts'
import type { Log } from '../base/log.ts'
import { serviceName } from '../base/metrics.ts'
import {
  type KeyName,
  keyDerivation,
  type SecretName,
  type SecretRead,
  type SecretVersion,
} from '../base/secrets.ts'
import type { FileStore } from '../formats/file-store.ts'
import type { BlockCheck } from '../identity/blocked-tenants.ts'
import type { TokenVerifier } from '../identity/token.ts'
import type { Runtime } from '../request/context.ts'
import type { Table, TableAccess } from '../table/table.ts'
import { deployedSettings } from './deployed-settings.ts'

/** Adapters of a function, passed in so that functions without them do not bundle their clients. */
export interface Adapters {
  log?: (service: string, environment: NodeJS.ProcessEnv) => Log
  table?: (name: string, access: TableAccess) => Table
  secret?: (arn: string, reading: SecretRead) => Promise<SecretVersion>
  files?: (bucket: string, budget: Budget) => FileStore
  blockCheck?: (clock: Clock) => BlockCheck
  tokens?: (settings: Settings, environment: NodeJS.ProcessEnv) => TokenVerifier
}

/**
 * Returns the runtime of a function on AWS. It creates everything at its first use: a function that lists nothing never
 * reads the secret.
 */
export function deployedRuntime(adapters: Adapters, settings: Settings = deployedSettings()): Runtime {
  const clock = systemClock
  const log = lazy(() => passed(adapters.log)(serviceName, process.env))
  const deriveKey = keyDerivation()
  const deriveEarlierKey = keyDerivation()
  const tokens = lazy(() => passed(adapters.tokens)(settings, process.env))
  const isBlocked = lazy(() => passed(adapters.blockCheck)(clock))
  const environment = (name: string) => process.env[name]
  const read = async (name: SecretName | KeyName, how: Pick<SecretRead, 'budget' | 'renew' | 'version'>) => {
    const arn = required(`${name.toUpperCase()}_SECRET_ARN`)
    return passed(adapters.secret)(arn, { settings, clock, ...how }).catch(unavailable)
  }
  return {
    settings,
    clock,
    get log() {
      return log()
    },
    get tokens() {
      return tokens()
    },
    openTable: (budget, criticality = 'critical', units) =>
      passed(adapters.table)(required('TABLE_NAME'), { clock, budget, criticality, ...(units && { units }) }),
    openFiles: (budget) => passed(adapters.files)(required('FILES_BUCKET'), budget),
    secret: async (name, budget, options) => (await read(name, { budget, ...options })).text,
    isBlocked: (tenant, table) => isBlocked()(tenant, table),
    remember: processMemory(clock),
    derivedKey: async (name, budget) => deriveKey((await read(name, { budget })).text, name),
    async versionedKey(name, budget, version) {
      const current = await read(name, { budget })
      if (version === undefined || version === current.version)
        return { key: deriveKey(current.text, name), version: current.version }
      const { text } = await read(name, { budget, version })
      return { key: deriveEarlierKey(text, name), version }
    },
    environment,
  }

  function required(name: string): string {
    const value = environment(name)
    if (!value) throw new Error(`the environment variable ${name} is missing`)
    return value
  }
}

/** Turns work on an event of AWS (a stream, a schedule, a trigger) into a function. */
export function eventFunction<Event, Result>(
  adapters: Adapters,
  work: (event: Event, runtime: Runtime, invocationId: string) => Result | Promise<Result>,
): (event: Event, invocation?: Pick<Context, 'awsRequestId'>) => Promise<Result> {
  const runtime = lazy(() => deployedRuntime(adapters))
  return async (event, invocation) => work(event, runtime(), invocation?.awsRequestId ?? '')
}

function passed<Adapter>(adapter: Adapter | undefined): Adapter {
  if (!adapter) throw new Error('this function was created without the adapter')
  return adapter
}

function unavailable(cause: unknown): never {
  throw cause instanceof Failure ? cause : fail('DEPENDENCY.unavailable', { cause })
}
