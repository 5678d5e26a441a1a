import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  AssetManifestArtifact,
  CloudAssembly,
  type CloudFormationStackArtifact,
  UNKNOWN_ACCOUNT,
} from 'aws-cdk-lib/cx-api'
import { shardsVariable } from '#lib/functions/function-names.ts'
import type { ShardSettings } from '#shared/platform/table/keys.ts'
import { recordedShards } from './recorded-shards.ts'

/** The parts of a CloudFormation template that preflight compares. */
export interface Template {
  Resources?: Record<string, { Type: string; Properties?: Record<string, unknown> }>
  Outputs?: Record<string, { Value: unknown }>
}

/** A stack as `cdk synth` wrote it into a folder. */
export interface SynthesizedStack {
  name: string
  /** Of the profile; absent for the local stage, which runs where it is deployed. */
  environment?: { account: string; region: string }
  template: Template
  /** This template, and those of its nested stacks. */
  templates: readonly Template[]
  /** The setting storage.shards, as its functions record it. */
  shards: ShardSettings
  /** Whether CodeDeploy moves aliases: neither `-c rollout=bypass` nor `-c freeze` was given. */
  gradual: boolean
  /** The concurrent executions that its functions reserve. */
  reserved: number
  /** The logical ids of the functions that `-c freeze` stops. */
  stopped: readonly string[]
}

/** @throws Error for a folder without a synthesized stack of this name */
export function synthesizedStack(folder: string, name: string): SynthesizedStack {
  const stacks = assemblyIn(folder).stacks
  const stack = stacks.find(({ stackName }) => stackName === name)
  if (!stack) {
    const names = stacks.map(({ stackName }) => stackName).join(', ') || 'none'
    throw new Error(`${folder} has no stack ${name}: its stacks are ${names}`)
  }
  const { account, region } = stack.environment
  const texts = templatesOf(stack, folder)
  const templates = texts.map((text): Template => JSON.parse(text))
  const reservations = templates.flatMap(reservationsIn)
  const stopped = reservations.flatMap(([id, executions]) => (executions === 0 ? [id] : []))
  const reserved = reservations.reduce((sum, [, executions]) => sum + executions, 0)
  const gradual = texts.some((text) => text.includes('"CodeDeployLambdaAliasUpdate"'))
  const shards = recordedShards(commonEnvironment(texts))
  const environment = account === UNKNOWN_ACCOUNT ? {} : { environment: { account, region } }
  return { name, ...environment, template: stack.template, templates, shards, gradual, reserved, stopped }
}

/** Returns the templates of a stack and of its nested stacks, which are assets. The folder may have other stacks. */
function templatesOf(stack: CloudFormationStackArtifact, folder: string): string[] {
  const assets = stack.dependencies
    .filter((one) => AssetManifestArtifact.isAssetManifestArtifact(one))
    .flatMap(({ contents }) => Object.values(contents.files ?? {}))
  const nested = assets
    .map(({ source }) => source.path ?? '')
    .filter((path) => path.endsWith('.nested.template.json'))
  return [stack.templateFile, ...nested].map((file) => readFileSync(join(folder, file), 'utf8'))
}

/** Returns the reserved concurrent executions of functions by their logical id. A stopped function reserves none. */
function reservationsIn({ Resources = {} }: Template): [id: string, executions: number][] {
  return Object.entries(Resources).flatMap(([id, { Properties }]) => {
    const executions = Properties?.ReservedConcurrentExecutions
    return typeof executions === 'number' ? [[id, executions] as const] : []
  }) as [string, number][]
}

/** Returns the recorded shards, which are the same in every function. */
function commonEnvironment(templates: readonly string[]): Record<string, string> {
  const [, value] = new RegExp(`"${shardsVariable}":\\s*("(?:[^"\\\\]|\\\\.)*")`).exec(templates.join()) ?? []
  return value === undefined ? {} : { [shardsVariable]: JSON.parse(value) }
}

function assemblyIn(folder: string): CloudAssembly {
  try {
    return new CloudAssembly(folder)
  } catch (thrown) {
    throw new Error(`${folder} is no output of cdk synth: ${(thrown as Error).message}`)
  }
}
