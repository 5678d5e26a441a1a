import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Logger } from '@aws-lambda-powertools/logger'
import { describeFault, type FaultDescription } from '../base/failure.ts'
import { type Log, logOf } from '../base/log.ts'

/**
 * The log of the functions that no caller waits for. Their faults name the source, by the source map of the bundle. HTTP
 * functions use `jsonLog`, which starts and writes faster.
 */
export function powertoolsLog(serviceName: string, environment: NodeJS.ProcessEnv = {}): Log {
  const logger = new Logger({ serviceName })
  return logOf(
    (message, failed, fields) => logger[failed ? 'error' : 'info'](message, fields),
    environment,
    describeInSource,
  )
}

function describeInSource(fault: unknown): FaultDescription | undefined {
  const description = describeFault(fault)
  return description && { ...description, at: description.at.map(inSource) }
}

const sourceMaps = new Map<string, SourceMap | undefined>()

/** Returns a frame with its position in the source; the same frame if its file has no source map. */
function inSource(frame: string): string {
  const [, url = '', line, column] = /\(?(file:\S+):(\d+):(\d+)\)?$/.exec(frame) ?? []
  if (url === '') return frame
  if (!sourceMaps.has(url)) sourceMaps.set(url, sourceMapOf(url))
  const origin = sourceMaps.get(url)?.findOrigin(Number(line), Number(column))
  if (!origin || !('fileName' in origin)) return frame
  // The names of functions are shortened in a bundle, so only the position is readable.
  return `at ${origin.fileName}:${origin.lineNumber}:${origin.columnNumber}`
}

/** Reads the source map of a bundle, at its first fault: a cold start does not wait for it. */
function sourceMapOf(url: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')))
  } catch {
    return undefined
  }
}
