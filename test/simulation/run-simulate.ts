import { execFile } from 'node:child_process'
import { join } from 'node:path'

const script = join(import.meta.dirname, 'simulate.ts')

/** Runs the command as a user would. */
export function simulate(...options: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const maxBuffer = 64 * 1024 * 1024
    execFile(process.execPath, [script, ...options], { maxBuffer }, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), output: `${stdout}${stderr}` })
    })
  })
}
