import type { Settings } from '#shared/settings/register.ts'
import { inCdkProcess } from './cdk-process.ts'
import { type SynthesisOptions, settingsOf } from './stage-settings.ts'
import type { Resource, Template, Templates } from './template.ts'

export type { Resource, Template }

export interface Synthesis extends Templates {
  settings: Settings
}

/** The templates of a stage, synthesized once per run of the tests and options. */
export async function synthesise(stage: string, options: SynthesisOptions = {}): Promise<Synthesis> {
  const templates = await inCdkProcess('stageTemplates', stage, options)
  return { settings: await settingsOf(options), ...templates }
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

/** The logical id that a Ref or Fn::GetAtt names. */
export function referenceOf(value: { Ref?: string; 'Fn::GetAtt'?: [string, string] }): string {
  return value.Ref ?? value['Fn::GetAtt']?.[0] ?? JSON.stringify(value)
}
