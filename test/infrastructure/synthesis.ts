import type { Settings } from '#shared/settings/register.ts'
import { inCdkProcess } from './cdk-process.ts'
import { type SynthesisOptions, settingsOf } from './stage-settings.ts'
import type { Resource, Template, Templates } from './template.ts'

export type { Resource, Template }

export interface Synthesis extends Templates {
  settings: Settings
}

/** The templates of a stage, synthesized once per run of the tests and options. */
export async function synthesize(stage: string, options: SynthesisOptions = {}): Promise<Synthesis> {
  const templates = await inCdkProcess('stageTemplates', stage, options)
  return { settings: await settingsOf(options), ...templates }
}

/** The resources of a type, by logical id. */
export function resourcesOf({ Resources }: Template, type: string): [string, Resource][] {
  return Object.entries(Resources).filter(([, { Type }]) => Type === type)
}

/** A synthesis to read: a reference is text, such as `<Table.Arn>`, and no id has a hash. */
export async function templatesOf(stage: string, options: SynthesisOptions = {}): Promise<Synthesis> {
  const synthesis = await synthesize(stage, options)
  return { ...synthesis, template: readable(synthesis.template), watch: readable(synthesis.watch) }
}

/** The ids of the resources of a type. */
export function idsOf(template: Template, type: string): string[] {
  return resourcesOf(template, type).map(([id]) => id)
}

/** The properties of a resource. */
export function propertiesOf({ Resources }: Template, id: string): Resource['Properties'] {
  const { Properties } = Resources[id] ?? {}
  if (!Properties) throw new Error(`there is no resource ${id}`)
  return Properties
}

/** The value at a path: of a property, such as `Table.KeySchema`, a policy, such as `Table.DeletionPolicy`, or an output. */
export function valueAt({ Resources, Outputs = {} }: Template, path: string): unknown {
  const [id = '', ...names] = path.split('.')
  const { Properties, ...policies } = Resources[id] ?? {}
  const from = id === 'Outputs' ? Outputs : { ...policies, ...Properties }
  return names.reduce<Record<string, never> | undefined>((value, name) => value?.[name], from)
}

function readable(template: Template): Template {
  const resources = Object.entries(template.Resources).map(([id, one]) => [withoutHash(id), inText(one)])
  const Resources = Object.fromEntries(resources)
  if (Object.keys(Resources).length < resources.length) throw new Error('two ids differ only in their hash')
  return {
    ...template,
    Resources,
    Outputs: inText(template.Outputs ?? {}) as NonNullable<Template['Outputs']>,
  }
}

function inText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inText)
  const { Ref, 'Fn::GetAtt': attribute, 'Fn::Join': joined } = value as Record<string, never[] | undefined>
  if (Ref !== undefined) return `<${withoutHash(String(Ref))}>`
  if (attribute !== undefined) return `<${withoutHash(attribute.join('.'))}>`
  const parts = (joined?.[1] ?? []).map(inText)
  if (joined?.[0] === '' && parts.every((part) => typeof part === 'string')) return parts.join('')
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inText(one)]))
}

function withoutHash(id: string): string {
  return id.replace(/[0-9A-F]{8}(?=$|\.)/, '')
}
