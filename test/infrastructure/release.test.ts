import { describe, expect, test } from '@jest/globals'
import { functionEntries, functionOutput, pascalCase } from '#lib/function-entries.ts'
import { releaseOf } from '#lib/release.ts'
import { stageNamed } from '#lib/stage.ts'
import { localSettings } from '#test/support/settings.ts'
import {
  type Resource,
  referenceOf,
  resourceNamed,
  resourcesOf,
  synthesise,
  type Template,
} from './synthesis.ts'

const names = Object.keys(functionEntries())
const aliasId = (name: string) => `${pascalCase(name)}Live`
const idsOf = (template: Template, type: string) => resourcesOf(template, type).map(([id]) => id)
/** The aliases of functions anywhere in a value: their ids without hash. */
const aliasesIn = (value: unknown) =>
  [...new Set(JSON.stringify(value).match(/\b\w+Live(?=[0-9A-F]{8}\b)/g))].sort()

/** Each synthesis is a process. */
const deployed = {
  dev: await synthesise('dev'),
  staging: await synthesise('staging'),
  prod: await synthesise('prod'),
  'local with a release': await synthesise('local', { release: 'r1' }),
}

describe.each(Object.entries(deployed))('on the stage %s', (_stage, { template }) => {
  test.each(names)('%s has an alias for the version of the release', (name) => {
    const { Properties: alias } = resourceNamed(template, 'AWS::Lambda::Alias', aliasId(name))
    expect(alias.Name).toBe('live')
    const version = template.Resources[referenceOf(alias.FunctionVersion)] as Resource
    expect(version.Properties.FunctionName).toEqual(alias.FunctionName)
  })

  test.each(names)('%s has the release in its environment', (name) => {
    const { Properties } = resourceNamed(template, 'AWS::Lambda::Function', pascalCase(name))
    expect(Properties.Environment.Variables.RELEASE).toBe('r1')
  })

  test.each(names)('%s records the shards of the release', (name) => {
    const { Properties } = resourceNamed(template, 'AWS::Lambda::Function', pascalCase(name))
    const { STORAGE_SHARDS } = Properties.Environment.Variables
    expect(JSON.parse(STORAGE_SHARDS)).toEqual(localSettings['storage.shards'])
  })

  test('event source mappings invoke aliases', () => {
    const targets = resourcesOf(template, 'AWS::Lambda::EventSourceMapping').map(
      ([, { Properties }]) => Properties.FunctionName,
    )
    expect(targets.length).toBeGreaterThan(0)
    for (const target of targets) expect(aliasesIn(target)).toHaveLength(1)
  })

  test('schedules invoke aliases', () => {
    const targets = resourcesOf(template, 'AWS::Scheduler::Schedule').map(
      ([, { Properties }]) => template.Resources[referenceOf(Properties.Target.Arn)]?.Type,
    )
    expect(targets).toContain('AWS::Lambda::Alias')
    expect(targets).not.toContain('AWS::Lambda::Function')
  })

  test('the workflow invokes aliases', () => {
    const steps = names.filter((name) => /^imports\.(prepare|rows|complete|fail)$/.test(name))
    const [[, machine] = []] = resourcesOf(template, 'AWS::StepFunctions::StateMachine')
    expect(aliasesIn(machine)).toEqual(steps.map(aliasId).sort())
  })

  test('the user pool invokes the alias of its trigger', () => {
    const [[, pool] = []] = resourcesOf(template, 'AWS::Cognito::UserPool')
    expect(aliasesIn(pool?.Properties.LambdaConfig)).toEqual([aliasId('login.add-claims')])
  })

  test('redrive invokes aliases', () => {
    for (const name of ['events.relay', 'tasks.enqueue'])
      expect(aliasesIn(template.Outputs?.[functionOutput(name)])).toEqual([aliasId(name)])
  })

  test('no function can be invoked but through its alias', () => {
    const permitted = resourcesOf(template, 'AWS::Lambda::Permission').map(
      ([, { Properties }]) => template.Resources[referenceOf(Properties.FunctionName)]?.Type,
    )
    expect(new Set(permitted)).toEqual(new Set(['AWS::Lambda::Alias']))
  })

  test('the release is an output', () => {
    expect(template.Outputs?.Release?.Value).toBe('r1')
  })
})

describe('a new release without another change', () => {
  test.each(['AWS::Lambda::Version', 'AWS::Lambda::Alias'])(
    'has, of %s, one for each function',
    async (type) => {
      const { template } = await synthesise('prod', { release: 'r2' })
      expect(idsOf(template, type)).toHaveLength(names.length)
    },
  )

  test('publishes a version of every function', async () => {
    const { template } = await synthesise('prod', { release: 'r2' })
    const known = new Set(idsOf(deployed.prod.template, 'AWS::Lambda::Version'))
    const fresh = idsOf(template, 'AWS::Lambda::Version').filter((id) => !known.has(id))
    expect(fresh).toHaveLength(names.length)
  })

  test('keeps the aliases', async () => {
    const { template } = await synthesise('prod', { release: 'r2' })
    expect(idsOf(template, 'AWS::Lambda::Alias')).toEqual(idsOf(deployed.prod.template, 'AWS::Lambda::Alias'))
  })
})

test('the local stage without a release replaces functions in place', async () => {
  const { template } = await synthesise('local')
  for (const type of ['AWS::Lambda::Version', 'AWS::Lambda::Alias']) expect(idsOf(template, type)).toEqual([])
})

describe('the id of a release', () => {
  test.each(['dev', 'staging', 'prod'])('is required on the stage %s', (stage) => {
    expect(() => releaseOf(stageNamed(stage), undefined)).toThrow(
      `stage ${stage} needs a release: name it with -c release=ID, a new one for each deployment`,
    )
  })

  test('is not required on the local stage', () => {
    expect(releaseOf(stageNamed('local'), undefined)).toBeUndefined()
  })

  test.each(['1234.1', 'v2_a-B', 'a'.repeat(64)])('can be %s', (id) => {
    expect(releaseOf(stageNamed('prod'), id)).toBe(id)
  })

  test.each(['', '-a', 'a b', 'a/b', 'ä', 'a'.repeat(65), true])('cannot be %s', (id) => {
    expect(() => releaseOf(stageNamed('prod'), id)).toThrow('is not a release')
  })
})
