import { type Freeze, freezes } from '#lib/functions/freeze.ts'
import { releaseOf } from '#lib/functions/release.ts'
import { type Stage, StageError, stageNamed } from '#lib/stage.ts'
import { localProfile } from './settings-file.ts'

/** What `-c NAME=VALUE` says about a deployment. */
interface DeploymentFlags {
  stage: Stage
  /** The file of its settings. */
  profile: string
  release: string | undefined
  bypassesRollout: boolean
  freeze: Freeze | undefined
}

/**
 * Reads the flags of a deployment.
 * @param flag returns the value of a flag, undefined if it is not given
 * @throws StageError with a line for each flag that is missing or wrong
 */
export function deploymentFlags(flag: (name: string) => unknown): DeploymentFlags {
  const problems: string[] = []
  const stage = read(() => stageNamed(flag('stage')))
  const release = read(() => stage && releaseOf(stage, flag('release')))
  const profile = read(() => stage && profileOf(stage, flag('settings')))
  const rollout = read(() => oneOf('rollout', ['bypass']))
  const freeze = read(() => oneOf('freeze', freezes))
  if (stage && profile !== undefined && problems.length === 0)
    return { stage, profile, release, bypassesRollout: rollout !== undefined, freeze }
  throw new StageError(problems.join('\n'))

  function read<T>(value: () => T): T | undefined {
    try {
      return value()
    } catch (thrown) {
      if (!(thrown instanceof StageError)) throw thrown
      problems.push(thrown.message)
      return undefined
    }
  }

  function oneOf<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = flag(name)
    const choice = choices.find((one) => one === value)
    if (choice === value) return choice
    throw new StageError(`-c ${name}=${value} is unknown: it is ${choices.join(' or ')}, or not given`)
  }
}

function profileOf({ name }: Stage, file: unknown): string {
  if (typeof file === 'string') return file
  if (name === 'local') return localProfile
  throw new StageError(`stage ${name} needs a settings profile: name it with -c settings=FILE`)
}
