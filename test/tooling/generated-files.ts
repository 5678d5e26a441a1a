import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { commandsPage } from '#bin/cli/commands-page.ts'
import { asyncapiDocument } from '#bin/describe/asyncapi.ts'
import { openapiDocument } from '#bin/describe/openapi.ts'
import { profileSchema } from '#bin/describe/profile-schema.ts'
import { withSettings } from '#bin/describe/reference/guides.ts'
import { settingsPage } from '#bin/describe/settings-page.ts'
import { consolePolicy, operatorPolicy, pipelinePolicy, unmaskPolicy } from '#bin/permissions/policies.ts'
import type { Settings } from '#shared/settings/register.ts'
import { costsOfStages } from '#test/bench/aws/costs.ts'
import { partitionLoads, withPartitions } from '#test/bench/partitions.ts'
import { failuresPage } from '#test/infrastructure/failures-page.ts'
import { clientTypes } from './client-types.ts'
import { withTakeovers } from './takeovers.ts'

const root = join(import.meta.dirname, '../..')
/** The guides with tables of a deployment. */
const guides = ['docs/guides/access.md', 'docs/guides/receive.md']
const securityPage = 'docs/security.md'
const scalingPage = 'docs/scaling.md'

/** Returns the text of every generated file that describes a deployment with this profile, by its path. */
export async function descriptionFiles(settings: Settings): Promise<Record<string, string>> {
  const openapi = `${compactJson(openapiDocument(settings))}\n`
  return {
    'openapi.json': openapi,
    'asyncapi.json': `${compactJson(asyncapiDocument(settings))}\n`,
    'client/schema.ts': await clientTypes(JSON.parse(openapi)),
    ...Object.fromEntries(
      await Promise.all(
        guides.map(async (page) => [page, withSettings(await readFile(join(root, page), 'utf8'), settings)]),
      ),
    ),
  }
}

/** Returns the text of the generated files that no profile changes, by its path. */
export function otherFiles(): Record<string, string> {
  return {
    'docs/commands.md': commandsPage(),
    'docs/failures.md': failuresPage(),
    [securityPage]: withTakeovers(readFileSync(join(root, securityPage), 'utf8')),
    'docs/settings.md': settingsPage(),
    'shared/settings/profile.schema.json': `${compactJson(profileSchema())}\n`,
    'docs/examples/console-policy.json': `${compactJson(consolePolicy())}\n`,
    'docs/examples/operator-policy.json': `${compactJson(operatorPolicy())}\n`,
    'docs/examples/operator-unmask-policy.json': `${compactJson(unmaskPolicy())}\n`,
    'docs/examples/pipeline-policy.json': `${compactJson(pipelinePolicy())}\n`,
  }
}

/** Returns the pages of figures, by their paths: what requests cost and what a table takes, as the last bench measured it. */
export async function figurePages(): Promise<Record<string, string>> {
  return {
    'docs/costs.md': await costsOfStages(),
    [scalingPage]: withPartitions(await readFile(join(root, scalingPage), 'utf8'), await partitionLoads()),
  }
}

/** Returns a document as JSON in which everything that fits into a line is one line. */
function compactJson(value: unknown, indent = ''): string {
  const lineWidth = 110
  const line = JSON.stringify(value, null, 1)?.replace(/\n\s*/g, ' ')
  if (typeof value !== 'object' || value === null || indent.length + line.length <= lineWidth) return line
  const deeper = `${indent}  `
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const members = Object.entries(value).flatMap(([key, member]) => {
    const text = compactJson(member, deeper)
    if (text === undefined) return []
    return [`${deeper}${Array.isArray(value) ? '' : `${JSON.stringify(key)}: `}${text}`]
  })
  return `${open}\n${members.join(',\n')}\n${indent}${close}`
}
