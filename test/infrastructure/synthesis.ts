import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { App } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { CommerceStack } from '#lib/commerce-stack.ts'
import type { CustomDomain } from '#lib/custom-domain.ts'
import { type FunctionCodes, functionEntries } from '#lib/function-entries.ts'
import { stageNamed } from '#lib/stage.ts'
import { Watch } from '#lib/watch.ts'
import { readProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { publishedProfile } from './published-profile.ts'

/** What a template says of one resource. */
export interface Resource {
  Type: string
  // biome-ignore lint/suspicious/noExplicitAny: each type of resource has properties of its own.
  Properties: any
  DeletionPolicy?: string
}

export interface Synthesis {
  stack: CommerceStack
  settings: Settings
  template: Template
  /** Of the stack within it, which has the alarms; empty on a stage without. */
  watch: Template
}

export interface SynthesisOptions {
  /** Settings in the place of those of the published profile. */
  changes?: Record<string, unknown>
  /** Functions in the place of those of one line. */
  codes?: FunctionCodes
  domain?: CustomDomain
}

/** Synthesises a stage with functions of one line, since their code does not show in a template. */
export async function synthesise(stage: string, options: SynthesisOptions = {}): Promise<Synthesis> {
  const profile = { ...(await publishedProfile()), ...options.changes }
  const settings = readProfile(profile, 'the profile of this test')
  const stack = new CommerceStack(new App(), {
    stage: stageNamed(stage),
    settings,
    codes: { ...stubs(), ...options.codes },
    domain: options.domain,
  })
  const watch = stack.node.tryFindChild('Watch')
  return {
    stack,
    settings,
    template: Template.fromStack(stack),
    watch: watch instanceof Watch ? Template.fromStack(watch) : Template.fromJSON({ Resources: {} }),
  }
}

export function stubs(): FunctionCodes {
  const root = mkdtempSync(join(tmpdir(), 'commerce-stubs-'))
  return Object.fromEntries(
    Object.keys(functionEntries()).map((name) => {
      const directory = join(root, name)
      mkdirSync(directory)
      writeFileSync(join(directory, 'index.mjs'), 'export const handler = async () => {}\n')
      return [name, { directory, codeSha: name }]
    }),
  )
}

/** The resources of a type, by logical id. */
export function resourcesOf(template: Template, type: string): [string, Resource][] {
  return Object.entries(template.findResources(type)) as [string, Resource][]
}

/** The one resource of a type whose logical id starts like this. */
export function resourceNamed(template: Template, type: string, start: string): Resource {
  const found = resourcesOf(template, type).filter(([id]) => id.replace(/[0-9A-F]{8}$/, '') === start)
  if (found.length !== 1) throw new Error(`${found.length} resources of type ${type} are called ${start}`)
  return (found[0] as [string, Resource])[1]
}

/** The logical id that a Ref or Fn::GetAtt names. */
export function referenceOf(value: { Ref?: string; 'Fn::GetAtt'?: [string, string] }): string {
  return value.Ref ?? value['Fn::GetAtt']?.[0] ?? JSON.stringify(value)
}
