import { startService } from '#test/support/service.ts'
import { codeCalls } from './code-calls.ts'

/** The service of a test file, and the operations on its codes. Jest evaluates this module once for each file. */
export const service = await startService()
export const calls = codeCalls(service)
