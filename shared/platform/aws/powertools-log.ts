import { Logger } from '@aws-lambda-powertools/logger'
import { type Log, logOf } from '../base/log.ts'

/** The log of the functions that no caller waits for. HTTP functions use `jsonLog`, which starts and writes faster. */
export function powertoolsLog(serviceName: string, environment: NodeJS.ProcessEnv = {}): Log {
  const logger = new Logger({ serviceName })
  return logOf((message, failed, record) => logger[failed ? 'error' : 'info'](message, record), environment)
}
