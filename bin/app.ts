import { join } from 'node:path'
import { App, Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
import { routes } from '#functions/routes.ts'
import { checkConcurrency } from '#lib/checks/check-concurrency.ts'
import { checkOperations } from '#lib/checks/check-operations.ts'
import { CommerceStack } from '#lib/commerce-stack.ts'
import { entryPoints } from '#lib/functions/function-names.ts'
import { StageError } from '#lib/stage.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { bundle } from './build/bundle.ts'
import { deploymentFlags } from './build/deployment-flags.ts'
import { exampleValues } from './build/local-values.ts'
import { loadSettings } from './build/settings-file.ts'

/**
 * Synthesizes the CDK app: `cdk synth -c stage=NAME -c settings=FILE`. The local stage has a
 * default profile; every other stage needs one. `-c release=ID` names the deployment, and functions get versions.
 * `-c rollout=bypass` deploys without CodeDeploy, and `-c freeze=writes|all` keeps a freeze.
 */
async function synthesizeApp(): Promise<void> {
  const app = new App({ analyticsReporting: false })
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app))
  const { stage, profile, ...flags } = deploymentFlags((name) => app.node.tryGetContext(name))
  const settings = await loadSettings(profile, stage.name)
  // The local AWS has a fixed account and region.
  const env = stage.onAws ? environmentOf(settings, profile) : {}
  checkOperations(settings, routes, profile)
  checkConcurrency(stage, settings, profile)
  const codes = await bundle({
    entries: entryPoints(),
    outdir: join(app.outdir, 'functions'),
    settings: JSON.stringify(settings),
  })
  new CommerceStack(app, { stage, settings, codes, env, ...flags })
  app.synth()
}

/**
 * Returns the account and the region of the stack.
 * @throws ProfileError for a profile with values of an example
 * @throws StageError if the CDK command line, which sets the variables, has credentials of another account or region
 */
function environmentOf(settings: Settings, profile: string) {
  const examples = exampleValues(settings)
  if (examples.length > 0) throw new ProfileError([`${profile} cannot be deployed:`, ...examples].join('\n'))
  const { 'aws.environment': environment } = settings
  const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env
  // Without credentials, the command line sets a region, but no account.
  if (environment && account && (account !== environment.account || region !== environment.region))
    throw new StageError(
      `the credentials are of account ${account} in ${region}, but ${profile} is for account ${environment.account} in ${environment.region}: set AWS_PROFILE and AWS_REGION`,
    )
  return environment ?? {}
}

try {
  await synthesizeApp()
} catch (thrown) {
  // Errors that the person who deploys can fix are printed without a stack trace. Any other error is a bug.
  if (!(thrown instanceof ProfileError || thrown instanceof StageError)) throw thrown
  console.error(thrown.message)
  process.exitCode = 1
}
