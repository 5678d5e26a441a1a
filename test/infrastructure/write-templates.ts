/** Writes the templates of a stage to a file: `node write-templates.ts STAGE OPTIONS FILE`, with the options as JSON. */
import { renameSync, writeFileSync } from 'node:fs'
import { Template } from 'aws-cdk-lib/assertions'
import { Watch } from '#lib/watch.ts'
import { stackOfStage } from './stage-stack.ts'

const [stage = '', options = '{}', file = ''] = process.argv.slice(2)
const stack = await stackOfStage(stage, JSON.parse(options))
const watch = stack.node.tryFindChild('Watch')
const templates = {
  template: Template.fromStack(stack).toJSON(),
  watch: watch instanceof Watch ? Template.fromStack(watch).toJSON() : { Resources: {} },
}
// Moved into place, so that nobody reads half of it.
const aside = `${file}-${process.pid}`
writeFileSync(aside, JSON.stringify(templates))
renameSync(aside, file)
