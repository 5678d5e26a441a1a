import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { App } from 'aws-cdk-lib'
import { CommerceStack } from '#lib/commerce-stack.ts'
import { entryPoints, type FunctionCodes } from '#lib/functions/function-names.ts'
import { stageNamed } from '#lib/stage.ts'
import { featureFlags } from './feature-flags.ts'
import { scratchFolder } from './scratch-folder.ts'
import { type SynthesisOptions, settingsOf } from './stage-settings.ts'

/** A stage's stack with stub functions, because templates do not contain code. */
export async function stackOfStage(stage: string, options: SynthesisOptions = {}): Promise<CommerceStack> {
  return new CommerceStack(appForTests(), {
    stage: stageNamed(stage),
    settings: await settingsOf(options),
    codes: stubs(options.codeShas),
    ...(options.freeze && { freeze: options.freeze }),
    release: options.release ?? (stageNamed(stage).rollout && 'r1'),
    ...(options.bypassesRollout && { bypassesRollout: true }),
  })
}

/** An app that leaves out what no template contains and what takes longer than the synthesis. */
function appForTests(): App {
  return new App({
    outdir: scratchFolder(),
    context: {
      ...featureFlags(),
      'aws:cdk:disable-asset-staging': true,
    },
    // template-errors.test.ts validates the templates.
    builtinCloudFormationValidation: false,
  })
}

function stubs(codeShas: Record<string, string> = {}): FunctionCodes {
  const directory = scratchFolder()
  writeFileSync(join(directory, 'index.mjs'), 'export const handler = async () => {}\n')
  return Object.fromEntries(
    Object.keys(entryPoints()).map((name) => [name, { directory, codeSha: codeShas[name] ?? name }]),
  )
}
