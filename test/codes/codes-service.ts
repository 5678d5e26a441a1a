import { startService } from '#test/support/service.ts'
import { longTimeoutSettings } from '#test/support/settings.ts'
import { codeCalls } from './code-calls.ts'

/** The service of a test file, and the operations on its codes. Jest evaluates this module once for each file. */
export const service = await startService({ settings: longTimeoutSettings })
export const calls = codeCalls(service)
