#!/usr/bin/env node
import { runProgram } from './cli/program.ts'

// A reader such as head may close the pipe. Commands that have to clean up handle that themselves.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  if (process.stdout.listenerCount('error') === 1) process.exit()
})

process.exitCode = await runProgram(process.argv.slice(2))
