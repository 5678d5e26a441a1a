import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { compileCache } from '#test/support/compile-cache.ts'

const script = join(import.meta.dirname, 'simulate.ts')
/** Most objects of a schedule are short-lived. A larger young generation saves a tenth of the processor time. */
const memory = '--max-semi-space-size=32'

/** Runs the command as a user would. */
export function simulate(...options: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...compileCache }
    const maxBuffer = 64 * 1024 * 1024
    execFile(process.execPath, [memory, script, ...options], { maxBuffer, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: `${stdout}${stderr}` })
    })
  })
}
