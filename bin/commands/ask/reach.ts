import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { codeHash } from '#shared/codes/code-audit.ts'
import { keyDerivation } from '#shared/platform/base/secrets.ts'
import type { Units } from '#shared/platform/base/units.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { activityFile } from '../../local/engine.ts'
import { directoryOf } from '../../local/local-service.ts'
import { type Inspection, inspectionOf } from '../dead-letters/inspect-dead-letters.ts'
import { type DeployedStack, openTable, outputOf } from '../stack/deployment.ts'
import { logsAt } from '../stack/log-query.ts'
import { secretText } from '../stack/secret-text.ts'
import { type StackResource, stackResources } from '../stack/stack-resources.ts'
import { type SearchLogs, searchActivity, searchLogs } from './search-logs.ts'

/** What questions read of a deployment: the local run, or a stack with the permissions of the caller. */
export interface Reach {
  /** The name that `--stack` takes; undefined for the local run. */
  stack: string | undefined
  /** Opens the table. @param units receives what the calls consume */
  openTable(units: Units): Table
  /** Opens the dead letters of a queue, or of a function that the table's stream feeds. */
  lettersOf(queue: string, table: Table): Promise<Inspection>
  searchLogs: SearchLogs
  /** Returns the hash of a code's text in the audit of its tenant. */
  hashOfCode(tenant: string, text: string): Promise<string>
}

/** @param name the name that `--stack` takes; undefined for the local run */
export function reachOf(name: string | undefined, stack: DeployedStack): Reach {
  return {
    stack: name,
    openTable: (units) => openTable(stack, units),
    lettersOf: (queue, table) => inspectionOf(stack, queue, table),
    searchLogs:
      name === undefined
        ? searchActivity(activityOf(stack))
        : searchLogs(() => logGroupsOf(name, stack), logsAt(stack.access)),
    async hashOfCode(tenant, text) {
      const secret = await secretText(outputOf(stack, 'CodesSecretArn'), stack.access)
      return codeHash(keyDerivation()(secret, 'codes'), tenant, text)
    },
  }
}

/** Returns the file in which the local AWS writes each log line. */
function activityOf({ access }: DeployedStack): string {
  return activityFile(directoryOf(Number(new URL(access.endpoint ?? '').port)))
}

async function logGroupsOf(name: string, { access }: DeployedStack): Promise<string[]> {
  return searchedLogGroups(await stackResources(name, new CloudFormationClient(access)))
}

/** How the names of log groups begin in which the gateway and web ACLs log. AWS prescribes that. */
const ofOthers = /^(API-Gateway-Execution-Logs_|aws-waf-logs-)/

/** Returns the log groups of the service. AWS refuses a query for each group that the caller may not query. */
export function searchedLogGroups(resources: readonly StackResource[]): string[] {
  return resources
    .filter(({ type, physicalId }) => type === 'AWS::Logs::LogGroup' && !ofOthers.test(physicalId))
    .map(({ physicalId }) => physicalId)
}
