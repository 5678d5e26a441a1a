// Calls every operation with the Go client of OpenAPI Generator, and prints the results as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"

	client "example.com/shop/client"
)

type call struct {
	Operation  string
	Tag        string
	Parameters map[string]string
	Body       json.RawMessage
	BodySchema string `json:"body_schema"`
}

type job struct {
	URLs  []string
	Calls []call
}

func main() {
	var given job
	check(json.NewDecoder(os.Stdin).Decode(&given))
	results := []map[string]any{}
	for _, url := range given.URLs {
		configuration := client.NewConfiguration()
		configuration.Servers = client.ServerConfigurations{{URL: url}}
		configuration.AddDefaultHeader("Authorization", "Bearer token")
		api := client.NewAPIClient(configuration)
		ofServer := map[string]any{}
		for _, one := range given.Calls {
			ofServer[one.Operation] = result(one, api)
		}
		results = append(results, ofServer)
	}
	check(json.NewEncoder(os.Stdout).Encode(results))
}

func result(given call, api *client.APIClient) map[string]any {
	service := reflect.ValueOf(api).Elem().FieldByName(title(given.Tag) + "API")
	method := service.MethodByName(title(given.Operation))
	arguments := []reflect.Value{reflect.ValueOf(context.Background())}
	// The parameters of the path follow the context.
	for len(arguments) < method.Type().NumIn() {
		for name, value := range given.Parameters {
			if strings.HasSuffix(name, "id") && !strings.Contains(name, "-") {
				arguments = append(arguments, reflect.ValueOf(value))
			}
		}
	}
	request := method.Call(arguments)[0]
	for name, value := range given.Parameters {
		if setter := setterOf(request, name); setter.IsValid() {
			request = setter.Call([]reflect.Value{reflect.ValueOf(value)})[0]
		}
	}
	if len(given.Body) > 0 {
		setter := setterOf(request, given.BodySchema)
		if !setter.IsValid() {
			setter = setterOf(request, "body")
		}
		request = setter.Call([]reflect.Value{bodyOf(given, setter.Type().In(0))})[0]
	}
	return outcome(request.MethodByName("Execute").Call(nil))
}

// Returns the response. An error without a model could not be read.
func outcome(returned []reflect.Value) map[string]any {
	last := len(returned) - 1
	response, _ := returned[last-1].Interface().(*http.Response)
	failure, _ := returned[last].Interface().(error)
	var apiError *client.GenericOpenAPIError
	if errors.As(failure, &apiError) && apiError.Model() != nil {
		return map[string]any{"status": response.StatusCode, "body": json.RawMessage(apiError.Body())}
	}
	if failure != nil {
		return map[string]any{"thrown": failure.Error()}
	}
	if last == 1 {
		return map[string]any{"status": response.StatusCode}
	}
	return map[string]any{"status": response.StatusCode, "body": returned[0].Interface()}
}

func setterOf(request reflect.Value, name string) reflect.Value {
	for index := range request.NumMethod() {
		if plain(request.Type().Method(index).Name) == plain(name) {
			return request.Method(index)
		}
	}
	return reflect.Value{}
}

func bodyOf(given call, kind reflect.Type) reflect.Value {
	if kind == reflect.TypeFor[*os.File]() {
		file, err := os.CreateTemp("", "rows")
		check(err)
		check(os.Remove(file.Name()))
		var text string
		check(json.Unmarshal(given.Body, &text))
		_, err = file.WriteString(text)
		check(err)
		_, err = file.Seek(0, 0)
		check(err)
		return reflect.ValueOf(file)
	}
	body := reflect.New(kind)
	check(json.Unmarshal(given.Body, body.Interface()))
	return body.Elem()
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func plain(name string) string {
	return regexp.MustCompile("[^a-z0-9]").ReplaceAllString(strings.ToLower(name), "")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
