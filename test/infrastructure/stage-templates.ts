import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { NestedStack, type Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { routes } from '#functions/routes.ts'
import type { SynthesisOptions } from './stage-settings.ts'
import type { Template as Json, Templates } from './template.ts'

/** Synthesizes the templates of a stage. */
export async function stageTemplates(stage: string, options: SynthesisOptions = {}): Promise<Templates> {
  const { moreRoutes = [], ...rest } = options
  if (moreRoutes.length > 0) return templatesWithMoreRoutes(moreRoutes, stage, rest)
  const { stackOfStage } = await import('./stage-stack.ts')
  return templatesOf(await stackOfStage(stage, options))
}

/** Runs this module in a separate process, because the infrastructure derives its alarms from the routes when it is loaded. */
async function templatesWithMoreRoutes(
  moreRoutes: readonly string[],
  stage: string,
  options: SynthesisOptions,
): Promise<Templates> {
  const args = [import.meta.filename, moreRoutes.join(), stage, JSON.stringify(options)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1e8 })
  return JSON.parse(stdout)
}

if (import.meta.main) {
  const [moreRoutes = '', stage = '', options = ''] = process.argv.slice(2)
  for (const operation of moreRoutes.split(',')) addRoute(operation)
  process.stdout.write(JSON.stringify(await stageTemplates(stage, JSON.parse(options))))
}

/** Adds a route with the most resources: a GET on its own path, with budgets. */
function addRoute(operation: string): void {
  const model = routes.find(({ route }) => route.operation === 'orders.read')
  if (!model) throw new Error('there is no route to copy')
  const uses = [...model.route.uses, 'files.link'] as const
  const route = { ...model.route, operation, path: `/v1/${operation}`, errorBudgetPercent: 0.1, uses }
  Object.assign(routes, { [routes.length]: { route, folder: model.folder } })
}

function templatesOf(stack: Stack): Templates {
  const nested = stack.node.findAll().filter((one) => NestedStack.isNestedStack(one))
  const stacks = Object.fromEntries([stack, ...nested].map((one) => [nameOf(one), templateOf(one)]))
  const ofAlarms = nested.filter((one) => /^Watch/.test(nameOf(one)))
  const parameters: Record<string, unknown> = {}
  const outputs = new Map<string, unknown>()
  for (const one of nested) {
    const id = stack.resolve(one.nestedStackResource?.ref).Ref
    // A stack passes a parameter to its nested stack under the same name.
    for (const { Resources } of Object.values(stacks))
      for (const [name, value] of Object.entries(Resources[id]?.Properties.Parameters ?? {}))
        if ((value as { Ref?: string }).Ref !== name) parameters[name] = value
    for (const [name, { Value }] of Object.entries(stacks[nameOf(one)]?.Outputs ?? {}))
      outputs.set(`${id} Outputs.${name}`, Value)
  }
  return {
    template: flattened([stack, ...nested.filter((one) => !ofAlarms.includes(one))]),
    watch: flattened(ofAlarms),
    stacks,
    tags: stack.tags.tagValues(),
  }

  /** The path of a nested stack within the main stack, or the name of the main stack. */
  function nameOf(one: Stack): string {
    return one === stack ? stack.stackName : one.node.path.slice(stack.node.path.length + 1)
  }

  /** Merges stacks: every reference names its resource. */
  function flattened(parts: readonly Stack[]): Json {
    const all = parts.map((one) => stacks[nameOf(one)] as Json)
    const resources = all.flatMap(({ Resources }) => Object.entries(Resources))
    if (new Set(resources.map(([id]) => id)).size < resources.length)
      throw new Error('two resources have one id')
    return resolved({ ...all[0], Resources: Object.fromEntries(resources) }) as Json
  }

  function resolved(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(resolved)
    const { Ref, 'Fn::GetAtt': attribute } = value as { Ref?: string; 'Fn::GetAtt'?: string[] }
    if (Ref !== undefined && Ref in parameters) return resolved(parameters[Ref])
    const output = attribute?.join(' ') ?? ''
    if (outputs.has(output)) return resolved(outputs.get(output))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolved(one)]))
  }
}

function templateOf(one: Stack): Json {
  return Template.fromStack(one).toJSON() as Json
}
