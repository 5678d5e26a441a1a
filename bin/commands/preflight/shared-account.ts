import { GetTemplateCommand } from '@aws-sdk/client-cloudformation'
import { GetAccountSettingsCommand, GetFunctionConcurrencyCommand } from '@aws-sdk/client-lambda'
import { minUnreserved } from '#lib/checks/check-concurrency.ts'
import { deploymentName, stageNames } from '#lib/stage.ts'
import type { Clients } from '../deployment/releases.ts'
import { stackResources } from '../stack/stack-resources.ts'
import type { SynthesizedStack, Template } from './assembly.ts'

/** Names of the profile that exist once in an account and a region. All other names of a stack contain its stage. */
const uniqueNames = [
  { type: 'AWS::ApiGateway::DomainName', property: 'DomainName', is: 'domain', setting: 'api.domain' },
  {
    type: 'AWS::SES::EmailIdentity',
    property: 'EmailIdentity',
    is: 'mail identity',
    setting: 'mail.sender',
  },
] as const

type UniqueName = (typeof uniqueNames)[number]

/** Returns why a stack cannot be created beside the other stages of its account and region. */
export async function namesOfOtherStages(
  { name: stack, template }: SynthesizedStack,
  { cloudFormation }: Clients,
): Promise<string[]> {
  const reasons: string[] = []
  for (const stage of stageNames) {
    const other = deploymentName({ name: stage })
    if (other === stack) continue
    const theirs = await templateOf(other, cloudFormation)
    for (const unique of uniqueNames) {
      const known = namesIn(theirs, unique)
      for (const name of namesIn(template, unique).filter((one) => known.includes(one)))
        reasons.push(
          `the stack ${other} has the ${unique.is} ${name} already, which only one stack of an account can have. Choose another one in ${unique.setting}, or another account`,
        )
    }
  }
  return reasons
}

function namesIn({ Resources = {} }: Template, { type, property }: UniqueName): string[] {
  return Object.values(Resources)
    .filter(({ Type }) => Type === type)
    .map(({ Properties }) => String(Properties?.[property]))
}

/** Returns the template of a stack, an empty one if there is no such stack. */
async function templateOf(StackName: string, cloudFormation: Clients['cloudFormation']): Promise<Template> {
  try {
    const { TemplateBody = '{}' } = await cloudFormation.send(new GetTemplateCommand({ StackName }))
    return JSON.parse(TemplateBody)
  } catch (thrown) {
    if (!(thrown as Error).message.includes('does not exist')) throw thrown
    return {}
  }
}

/**
 * Finds a stack that reserves more executions than the account has left, beside those that other functions reserve. Lambda
 * would refuse it after minutes.
 */
export async function missingExecutions(
  { name, reserved }: SynthesizedStack,
  isDeployed: boolean,
  { cloudFormation, lambda }: Clients,
): Promise<string | undefined> {
  if (reserved === 0) return undefined
  const { AccountLimit } = await lambda.send(new GetAccountSettingsCommand({}))
  const { ConcurrentExecutions: quota = 0, UnreservedConcurrentExecutions: unreserved = 0 } =
    AccountLimit ?? {}
  const own = isDeployed && reserved > unreserved - minUnreserved ? await reservedNow() : 0
  const left = unreserved + own - minUnreserved
  if (reserved <= left) return undefined
  const others = quota - unreserved - own
  return `the stack reserves ${reserved} concurrent executions of functions. Of the ${quota} of the account, other functions${others > 0 ? ', such as those of another stage,' : ''} reserve ${others}, and AWS keeps ${minUnreserved} free. Ask for a quota of at least ${others + reserved + minUnreserved}${others > 0 ? ', or use another account' : ''}`

  async function reservedNow(): Promise<number> {
    const functions = (await stackResources(name, cloudFormation)).filter(
      ({ type }) => type === 'AWS::Lambda::Function',
    )
    const found = await Promise.all(
      functions.map(({ physicalId: FunctionName }) =>
        lambda.send(new GetFunctionConcurrencyCommand({ FunctionName })),
      ),
    )
    return found.reduce((sum, { ReservedConcurrentExecutions = 0 }) => sum + ReservedConcurrentExecutions, 0)
  }
}
