import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

/** Runs a program in a pseudo terminal; its arguments are the program's. */
const pseudoTerminal = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'

/**
 * Runs a command in a terminal with 100 columns.
 * @param input what a person types
 */
export async function inTerminal(
  command: string,
  { input = '', env = {} }: { input?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<{ code: number; screen: string }> {
  const shell = ['sh', '-c', `stty cols 100; exec ${command}`]
  const child = spawn('python3', ['-c', pseudoTerminal, ...shell], {
    env: { PATH: process.env.PATH, TERM: 'xterm', ...env },
  })
  child.stdin.end(input)
  const ended = new Promise<number>((done) => child.once('exit', (code) => done(code ?? -1)))
  const [screen, code] = await Promise.all([text(child.stdout), ended])
  return { code, screen: screen.replaceAll('\r\n', '\n') }
}
