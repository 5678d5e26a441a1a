import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { App } from 'aws-cdk-lib'
import { CommerceStack } from '#lib/commerce-stack.ts'
import { type FunctionCodes, functionEntries } from '#lib/function-entries.ts'
import { stageNamed } from '#lib/stage.ts'
import { scratchFolder } from './scratch-folder.ts'
import { type SynthesisOptions, settingsOf } from './stage-settings.ts'

/** A stage's stack with stub functions, because templates do not contain code. */
export async function stackOfStage(stage: string, options: SynthesisOptions = {}): Promise<CommerceStack> {
  const scratch = scratchFolder()
  return new CommerceStack(new App({ outdir: join(scratch, 'cdk.out'), context: featureFlags() }), {
    stage: stageNamed(stage),
    settings: await settingsOf(options),
    codes: stubs(scratch, options.codeShas),
    ...(options.preparesKey && { preparesKey: true }),
    ...(options.bypassesRollout && { bypassesRollout: true }),
  })
}

/** The feature flags of cdk.json, which the CDK command line passes to the app. */
export function featureFlags(): Record<string, unknown> {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../../cdk.json'), 'utf8')).context
}

function stubs(scratch: string, codeShas: Record<string, string> = {}): FunctionCodes {
  return Object.fromEntries(
    Object.keys(functionEntries()).map((name) => {
      const directory = join(scratch, name)
      mkdirSync(directory)
      writeFileSync(join(directory, 'index.mjs'), 'export const handler = async () => {}\n')
      return [name, { directory, codeSha: codeShas[name] ?? name }]
    }),
  )
}
