import { execFile } from 'node:child_process'
import { join } from 'node:path'

const script = join(import.meta.dirname, 'simulate.ts')
/** Most objects of a schedule are short-lived. A larger young generation saves a tenth of the processor time. */
const memory = '--max-semi-space-size=32'

/** Runs the command as a user would. */
export function simulate(...options: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const maxBuffer = 64 * 1024 * 1024
    execFile(process.execPath, [memory, script, ...options], { maxBuffer }, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), output: `${stdout}${stderr}` })
    })
  })
}
