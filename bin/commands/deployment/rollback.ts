import { CreateAliasCommand, DeleteAliasCommand, UpdateAliasCommand } from '@aws-sdk/client-lambda'
import { removeProvisioned, restoreProvisioned } from '../freeze/provisioned-concurrency.ts'
import { missedBy, recordedShards } from '../preflight/recorded-shards.ts'
import {
  type Clients,
  clients,
  markOf,
  type Release,
  type ReleasedFunction,
  releasedFunctions,
  releasesOf,
  type Version,
  versionIn,
} from './releases.ts'

/** A rollback before it is made. */
interface Rollback {
  stack: string
  /** The release that serves now, and the one that will serve. */
  from: string
  to: string
  /** The releases that served after `to`, newest first. No later rollback goes to them, unless it names them. */
  rolledBack: string[]
  /** The functions that have a version of `to`. */
  functions: ReleasedFunction[]
  /** The names of the functions that are newer than `to`. They stay as they are. */
  staying: string[]
}

/**
 * Plans a rollback: to the release that served before, which was not rolled back itself, or to one by its id.
 * @throws Error if there is nothing to do, or if the functions of the release cannot serve
 */
export async function planRollback(
  stack: string,
  asked?: string,
  using: Clients = clients(),
): Promise<Rollback> {
  const all = await releasedFunctions(stack, using)
  const releases = releasesOf(all)
  const at = releases.findIndex(({ live }) => live > 0)
  const from = releases[at]
  if (!from) throw new Error(`nothing to do: no function of ${stack} serves a release`)
  const to = asked === undefined ? previous(releases, at) : releaseNamed(asked, releases)
  if (to === from && all.every((one) => serves(one, to.release)))
    throw new Error(`nothing to do: ${to.release} serves already`)
  const functions = all.filter((one) => versionIn(one, to.release))
  const rollback: Rollback = {
    stack,
    from: from.release,
    to: to.release,
    rolledBack: releases.slice(0, releases.indexOf(to)).map(({ release }) => release),
    functions,
    staying: all.filter((one) => !functions.includes(one)).map(({ name }) => name),
  }
  assertServing(rollback)
  return rollback
}

/** @throws Error if there is none, or if the stack is rolled back already */
function previous(releases: readonly Release[], at: number): Release {
  const { release } = releases[at] as Release
  const rolledBack = releases.filter((one) => one.rolled_back).map((one) => one.release)
  const already = releases.slice(0, at).some((one) => one.rolled_back)
  const to = releases.slice(at + 1).find((one) => !one.rolled_back)
  const said = rolledBack.length > 0 ? `, rolled back: ${rolledBack.join(', ')}` : ''
  if (already)
    throw new Error(
      `nothing to do: the stack is rolled back to ${release}${said}. To go further back, name a release with --to${to ? `, such as ${to.release}` : ''}`,
    )
  if (!to) throw new Error(`nothing to do: no release before ${release} is kept${said}`)
  return to
}

function releaseNamed(asked: string, releases: readonly Release[]): Release {
  const found = releases.find(({ release }) => release === asked)
  if (found) return found
  throw new Error(
    `there is no release ${asked}: kept are ${releases.map(({ release }) => release).join(', ')}`,
  )
}

function serves(one: ReleasedFunction, release: string): boolean {
  const version = versionIn(one, release)
  return version === undefined || (one.live.length === 1 && one.live[0] === version.number)
}

/** Returns the end of a sentence that begins with the release, if its version uses another table than the live one. */
function otherTable(
  { environment: { TABLE_NAME: its } }: Version,
  { environment: { TABLE_NAME: current } }: Version,
) {
  if (its === undefined || current === undefined || its === current) return []
  return [`uses the table ${its}, and the data is in ${current}`]
}

/** @throws Error if a function could not serve with its version of the release */
function assertServing({ to, functions }: Rollback): void {
  const stored = functions.flatMap(({ versions }) =>
    versions.map(({ environment }) => recordedShards(environment)),
  )
  const reasons = functions.flatMap((one) => {
    const version = versionIn(one, to) as Version
    const live = one.versions.filter(({ number }) => one.live.includes(number))
    const missed = missedBy(recordedShards(version.environment), stored)
    return [
      ...live.flatMap((each) => otherTable(version, each)),
      ...(missed === undefined ? [] : [`${missed} that hold items`]),
    ]
  })
  if (reasons.length === 0) return
  throw new Error(`cannot roll back: ${to} ${[...new Set(reasons)].join('; ')}. Deploy a fix instead`)
}

/**
 * Makes a rollback: of functions behind the gateway, consumers, workflow steps and triggers alike. A version is marked
 * before its alias moves, so a repeated rollback continues an interrupted one.
 */
export async function rollBack({ to, functions }: Rollback, { lambda }: Clients = clients()): Promise<void> {
  const provisioned: string[] = []
  for (const one of functions) {
    const { name: FunctionName, alias, versions } = one
    const target = versionIn(one, to) as Version
    for (const version of versions.slice(versions.indexOf(target) + 1)) {
      if (version.mark !== undefined) continue
      const marked = { Name: markOf(version), FunctionVersion: version.number }
      const Description = `Release ${version.release} was rolled back to ${to}.`
      await lambda.send(new CreateAliasCommand({ FunctionName, ...marked, Description }))
    }
    // With provisioned concurrency, requests would go on reaching the old version until the new one has allocated it.
    if (await removeProvisioned(FunctionName, lambda)) provisioned.push(FunctionName)
    const RoutingConfig = { AdditionalVersionWeights: {} }
    const moved = { Name: alias, FunctionVersion: target.number, RoutingConfig }
    await lambda.send(new UpdateAliasCommand({ FunctionName, ...moved }))
    if (target.mark !== undefined)
      await lambda.send(new DeleteAliasCommand({ FunctionName, Name: target.mark }))
  }
  // Last, so that a function for which Lambda refuses it keeps no other function on the bad release.
  const restored = await Promise.allSettled(provisioned.map((name) => restoreProvisioned(name, lambda)))
  const refused = provisioned.filter((_, at) => restored[at]?.status === 'rejected')
  if (refused.length > 0)
    throw new Error(
      `${to} serves again, without the provisioned concurrency of ${refused.join(', ')}: run \`unfreeze\` to restore it`,
      { cause: restored.find(({ status }) => status === 'rejected') },
    )
}
