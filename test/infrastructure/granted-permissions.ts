import { Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { Architecture, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { AwsSolutionsChecks } from 'cdk-nag'
import { filesBucket } from '#lib/files-bucket.ts'
import { grantUses } from '#lib/grants.ts'
import type { Resources, Right } from '#lib/rights.ts'
import { stageNamed } from '#lib/stage.ts'
import { settingsOf } from './stage-settings.ts'
import { appForTests } from './stage-stack.ts'
import type { Template as Json } from './template.ts'

/** Returns the template of a stack of the bucket and one function with this access, and the rules that it breaks. */
export async function granted(uses: Right[]): Promise<{ template: Json; brokenRules: string[] }> {
  const stack = new Stack(appForTests(), 'granting')
  const files = filesBucket(stack, stageNamed('prod'), await settingsOf({}))
  const handler = new LambdaFunction(stack, 'Handler', {
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    handler: 'index.handler',
    code: Code.fromInline('export const handler = async () => {}'),
  })
  grantUses(handler, { uses }, { files } as Resources)
  const template = Template.fromStack(stack).toJSON() as Json
  const { violations } = new AwsSolutionsChecks(stack).validateScope(stack)
  return { template, brokenRules: violations.map(({ ruleName }) => ruleName) }
}
