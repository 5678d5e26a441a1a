import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CloudAssembly, UNKNOWN_ACCOUNT } from 'aws-cdk-lib/cx-api'

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
  /** Whether CodeDeploy moves aliases: neither `-c rollout=bypass` nor `-c freeze` was given. */
  gradual: boolean
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
  // The aliases of endpoints are in nested stacks, whose templates are files of their own.
  const templates = readdirSync(folder).filter((file) => file.endsWith('.template.json'))
  const gradual = templates.some((file) =>
    readFileSync(join(folder, file), 'utf8').includes('"CodeDeployLambdaAliasUpdate"'),
  )
  const environment = account === UNKNOWN_ACCOUNT ? {} : { environment: { account, region } }
  return { name, ...environment, template: stack.template, gradual }
}

function assemblyIn(folder: string): CloudAssembly {
  try {
    return new CloudAssembly(folder)
  } catch (thrown) {
    throw new Error(`${folder} is no output of cdk synth: ${(thrown as Error).message}`)
  }
}
