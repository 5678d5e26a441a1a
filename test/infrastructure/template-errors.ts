import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CloudFormationValidatePlugin, type IPolicyValidationContext } from 'aws-cdk-lib'
import { scratchFolder } from './scratch-folder.ts'

/** It loads the rules of all resource types of the first templates once, which takes seconds. */
const validator = new CloudFormationValidatePlugin()

/**
 * Validates templates against the schemas and rules of CloudFormation that CDK ships.
 * @returns one line for each error: rule, name of the template, and text
 */
export async function templateErrors(templates: Record<string, object>): Promise<string[]> {
  const folder = scratchFolder()
  const names = new Map<string, string>()
  for (const [name, template] of Object.entries(templates)) {
    const file = join(folder, `${names.size}.json`)
    writeFileSync(file, JSON.stringify(template))
    names.set(file, name)
  }
  const stackTemplates = [...names].map(([templatePath, stackConstructPath]) => ({
    templatePath,
    stackConstructPath,
  }))
  const { violations } = validator.validate({
    stackTemplates,
  } as unknown as IPolicyValidationContext)
  return violations
    .filter(({ severity }) => severity === 'error')
    .flatMap(({ ruleName, description, violatingResources }) =>
      violatingResources.map(
        ({ templatePath = '' }) => `${ruleName} ${names.get(templatePath)}: ${description}`,
      ),
    )
}
