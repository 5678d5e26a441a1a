import { run } from './command.ts'
import { stackUsage } from './deployment.ts'
import { printRecords } from './print-records.ts'

const usage = `usage: npm run -s audit -- --tenant T [--stack NAME]
Prints the audit records of a tenant as JSON lines, oldest first.
${stackUsage}`

if (import.meta.main) await run(usage, () => printRecords('audit'))
