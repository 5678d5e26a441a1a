import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Settings } from '#shared/settings/register.ts'
import { synthesesFolder } from './scratch-folder.ts'
import { type SynthesisOptions, settingsOf } from './stage-settings.ts'

/** A resource of a template. */
export interface Resource {
  Type: string
  // biome-ignore lint/suspicious/noExplicitAny: each type of resource has other properties.
  Properties: any
  DeletionPolicy?: string
  UpdateReplacePolicy?: string
  UpdatePolicy?: unknown
}

export interface Template {
  Resources: Record<string, Resource>
  // biome-ignore lint/suspicious/noExplicitAny: a value is text or a reference.
  Outputs?: Record<string, { Value: any }>
  Parameters?: Record<string, unknown>
}

export interface Synthesis {
  settings: Settings
  /** Of the main stack and its nested stacks as one, without those of the alarms. */
  template: Template
  /** Of the nested stacks of the alarms; empty on a stage without. */
  watch: Template
  /** Each stack as it is deployed, by name. */
  stacks: Record<string, Template>
}

/**
 * The templates of a stage. They are synthesized in a separate process, once per run of the tests and options: loading CDK takes longer
 * than all checks of a template.
 */
export async function synthesise(stage: string, options: SynthesisOptions = {}): Promise<Synthesis> {
  const asked = JSON.stringify(options)
  const name = createHash('sha256').update(`${stage} ${asked}`).digest('hex').slice(0, 16)
  const file = join(synthesesFolder(), `${name}.json`)
  if (!existsSync(file)) {
    const program = join(import.meta.dirname, 'write-templates.ts')
    await promisify(execFile)('node', [program, stage, asked, file])
  }
  return { settings: await settingsOf(options), ...JSON.parse(readFileSync(file, 'utf8')) }
}

/** The resources of a type, by logical id. */
export function resourcesOf({ Resources }: Template, type: string): [string, Resource][] {
  return Object.entries(Resources).filter(([, { Type }]) => Type === type)
}

/** Returns the only resource of a type whose logical id starts with this. */
export function resourceNamed(template: Template, type: string, start: string): Resource {
  const found = resourcesOf(template, type).filter(([id]) => id.replace(/[0-9A-F]{8}$/, '') === start)
  if (found.length !== 1) throw new Error(`${found.length} resources of type ${type} are called ${start}`)
  return (found[0] as [string, Resource])[1]
}

/** Whether a resource of the type has these properties, at any depth. Lists must be equal in length. */
export function hasResource(template: Template, type: string, properties: object): boolean {
  return resourcesOf(template, type).some(([, { Properties }]) => isPart(properties, Properties))
}

function isPart(part: unknown, whole: unknown): boolean {
  if (typeof part !== 'object' || part === null) return part === whole
  if (typeof whole !== 'object' || whole === null) return false
  if (Array.isArray(part) && (!Array.isArray(whole) || whole.length !== part.length)) return false
  return Object.entries(part).every(([key, value]) => isPart(value, (whole as Record<string, unknown>)[key]))
}

/** The logical id that a Ref or Fn::GetAtt names. */
export function referenceOf(value: { Ref?: string; 'Fn::GetAtt'?: [string, string] }): string {
  return value.Ref ?? value['Fn::GetAtt']?.[0] ?? JSON.stringify(value)
}
