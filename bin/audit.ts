import { recordsCommand } from './tenant-records.ts'

const usage = `usage: npm run -s audit -- --tenant T [--stack NAME]
Prints the audit records of a tenant as JSON lines, oldest first.`

if (import.meta.main) await recordsCommand(usage, 'audit')
