import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { allows, type Statement } from '#test/infrastructure/role-policies.ts'

const file = join(import.meta.dirname, '../../docs/examples/console-policy.json')
const statements: Statement[] = JSON.parse(readFileSync(file, 'utf8')).Statement
const onTable = statements.filter(({ Resource }) => /:table\/commerce-\*$/.test(String(Resource)))

/** Returns whether the policy of the console permits a call on items. @param keys their partition keys */
export function mayRead(call: string, keys: readonly string[]): boolean {
  return allows(onTable, `dynamodb:${call}`, keys)
}
