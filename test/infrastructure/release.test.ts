import { describe, expect, test } from '@jest/globals'
import { entryPoints, functionOutput, pascalCase } from '#lib/functions/function-names.ts'
import { releaseOf } from '#lib/functions/release.ts'
import { stageNamed } from '#lib/stage.ts'
import { idsOf, propertiesOf, resourcesOf, type Template, templatesOf } from './synthesis.ts'

const names = Object.keys(entryPoints())
const aliasOf = (name: string) => `<${pascalCase(name)}Live>`
/** The aliases of functions anywhere in a value. */
const aliasesIn = (value: unknown) => [...new Set(JSON.stringify(value).match(/<\w+Live>/g))].sort()
const propertiesIn = (template: Template, type: string) =>
  resourcesOf(template, type).map(([, { Properties }]) => Properties)

// staging.test.ts compares staging with prod.
const deployed = {
  dev: await templatesOf('dev'),
  prod: await templatesOf('prod'),
  'local with a release': await templatesOf('local', { release: 'r1' }),
}

describe.each(Object.entries(deployed))('on the stage %s', (_stage, { template }) => {
  test.each(names)('%s has an alias for its version', (name) => {
    const { FunctionName, FunctionVersion } = propertiesOf(template, `${pascalCase(name)}Live`)
    const [, version = ''] = /^<(\w+)\.Version>$/.exec(FunctionVersion) ?? []
    expect(propertiesOf(template, version).FunctionName).toBe(FunctionName)
  })

  test('event source mappings invoke aliases', () => {
    const targets = propertiesIn(template, 'AWS::Lambda::EventSourceMapping')
    expect(targets.length).toBeGreaterThan(0)
    for (const { FunctionName: target } of targets) expect(aliasesIn(target)).toHaveLength(1)
  })

  test('schedules invoke no function but by its alias', () => {
    const targets = propertiesIn(template, 'AWS::Scheduler::Schedule').map(({ Target }) => Target.Arn)
    expect(targets).toContain(aliasOf('sagas.finish'))
    expect(
      targets.filter((target) => names.map((name) => `<${pascalCase(name)}.Arn>`).includes(target)),
    ).toEqual([])
  })

  test('the workflow invokes aliases', () => {
    const steps = names.filter((name) => /^imports\.(prepare|rows|end)$/.test(name))
    expect(aliasesIn(propertiesOf(template, 'ImportMachine'))).toEqual(steps.map(aliasOf).sort())
  })

  test.each(['events.relay', 'tasks.enqueue'])('redrive invokes the alias of %s', (name) => {
    expect(aliasesIn(template.Outputs?.[functionOutput(name)])).toEqual([aliasOf(name)])
  })

  test('no function can be invoked but through its alias', () => {
    const permitted = propertiesIn(template, 'AWS::Lambda::Permission')
    for (const { FunctionName } of permitted) expect(FunctionName).toMatch(/^<\w+Live>$/)
  })

  test('the release is an output', () => {
    expect(template.Outputs?.Release?.Value).toBe('r1')
  })
})

test('a new release publishes a version of every function, and keeps the aliases', async () => {
  const { template } = await templatesOf('prod', { release: 'r2' })
  const { template: before } = deployed.prod
  const known = idsOf(before, 'AWS::Lambda::Version')
  const versions = idsOf(template, 'AWS::Lambda::Version')
  expect(versions.filter((id) => !known.includes(id))).toHaveLength(names.length)
  expect(versions).toHaveLength(names.length)
  expect(idsOf(template, 'AWS::Lambda::Alias')).toEqual(idsOf(before, 'AWS::Lambda::Alias'))
})

test.each(['AWS::Lambda::Version', 'AWS::Lambda::Alias'])(
  'the local stage without a release has no %s',
  async (type) => expect(idsOf((await templatesOf('local')).template, type)).toEqual([]),
)

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
    expect(() => releaseOf(stageNamed('prod'), id)).toThrow(String(id))
  })
})
