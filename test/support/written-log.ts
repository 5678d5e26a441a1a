import { jest } from '@jest/globals'
import { jsonLog, type Log } from '#shared/platform/base/log.ts'

/** Returns the lines that a log writes to both standard streams. */
export function writtenLog(write: (log: Log) => void): string[] {
  const lines: string[] = []
  const streams = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation((text) => lines.push(String(text)) > 0),
  )
  write(jsonLog('test', process.env))
  for (const stream of streams) stream.mockRestore()
  return lines
}
