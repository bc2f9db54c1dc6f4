/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_common.h"

#include "cli/input.h"
#include "cli/report.h"
#include "cli/request.h"
#include "cli/signals.h"
#include "cli/view.h"

#include <signal.h>

static void sandbox_closep(mai_sandbox **sandbox)
{
        signals_detach();
        *sandbox = mai_sandbox_close(*sandbox);
}

static void request_freep(mai_request **request)
{
        *request = mai_request_free(*request);
}

static void result_freep(mai_result **result)
{
        *result = mai_result_free(*result);
}

/* One line for a run that did not simply end; the program's own line is ended first if it was left open. */
static void explain(const struct view *view, const mai_result *result)
{
        const char *status = mai_result_status(result);
        bool is_error = strcmp(status, "error") == 0;
        if (view->form != VIEW_STREAM && !is_error)
                return; /* the document says it */
        /* On a terminal both streams move one cursor. */
        bool open_line = view->status_line.enabled ? view->status_line.mid_line
                                                   : view->errors.last != 0 && view->errors.last != '\n';
        if (open_line)
                (void)!write(STDERR_FILENO, "\n", 1);
        if (is_error)
                report_line(NULL, mai_result_error_message(result), mai_result_error_hint(result));
        else if (mai_result_violation_message(result))
                report_line("stopped", mai_result_violation_message(result), NULL);
        /* The program's outcome stands, but its files, say, could not be written. */
        if (!is_error && mai_result_error_message(result))
                report_line(NULL, mai_result_error_message(result), mai_result_error_hint(result));
}

/* The exit status, after the result and the lines about it have been written. */
static int conclude(struct view *view, mai_result *result)
{
        view_finish(view);
        view_result(view, result);

        if (view->write_error == -EPIPE)
                return 128 + SIGPIPE; /* as a program that SIGPIPE killed; it makes no words either */
        if (view->write_error != 0) {
                report_line(view->write_error_stream, strerror(-view->write_error), "output is lost");
                return EXIT_SANDBOX;
        }
        const char *status = mai_result_status(result);
        int caught = signals_caught();
        if (strcmp(status, "cancelled") == 0 && caught)
                return 128 + caught;
        if (mai_result_error_message(result) || mai_result_violation_message(result))
                explain(view, result);
        if (strcmp(status, "error") == 0 && caught)
                return 128 + caught;
        return mai_result_exit_status(result);
}

/* A failure without a run: still the one form of answer, unless it is about words. Returns the status. */
static int refuse(struct view *view, const mai_error *error, const mai_request *request)
{
        _cleanup_(result_freep) mai_result *result = NULL;
        if (!error || api_error_is_usage(error) || mai_result_from_error(error, request, &result) < 0)
                return report_api_error(error);
        return conclude(view, result);
}

static int run_request(struct view *view, const char *policy, mai_request *request)
{
        _cleanup_(api_error_freep) mai_error *error = NULL;
        _cleanup_(sandbox_closep) mai_sandbox *sandbox = NULL;
        if (mai_sandbox_open(policy, &sandbox, &error) < 0)
                return refuse(view, error, request);

        /* Until here, also while a program is being typed, signals just end us: nothing is running yet. */
        signals_install(sandbox);
        _cleanup_(result_freep) mai_result *result = NULL;
        if (mai_run(sandbox, request, view_event, view, &result, &error) < 0) {
                view_finish(view);
                return refuse(view, error, request);
        }
        return conclude(view, result);
}

static int set_input(mai_request *request, const char *path, bool used, struct input *ret, struct error *err)
{
        int r = path ? input_open(path, ret, err) : used ? 0 : input_inherit(ret, err);
        if (r == 0 && ret->fd >= 0 && mai_request_set_stdin(request, ret->fd) < 0)
                return error_oom(err);
        return r;
}

int run_common(
    const struct command *command, int argc, char **argv, const char *missing, program_setter set_program)
{
        _cleanup_(error_clear) struct error err = {};
        _cleanup_(option_list_clear) struct option_list options = {};
        if (options_parse(command->name, command->option_bit, argc, argv, &options, &err) < 0)
                return report_error(&err);
        if (option_list_value(&options, OPTION_HELP))
                return help_print(command);

        bool json = option_list_value(&options, OPTION_JSON);
        bool events = option_list_value(&options, OPTION_EVENTS);
        char **operands = argv + options.operands;
        int count = argc - options.operands;
        const char *fault = json && events ? "--json and --events exclude each other"
                            : count == 0   ? missing
                                           : NULL;
        if (fault) {
                char hint[64];
                (void)snprintf(hint, sizeof hint, "see mai-sandbox %s --help", command->name);
                (void)error_set(&err, ERROR_USAGE, 0, hint, "%s", fault);
                return report_error(&err);
        }

        _cleanup_(view_clear) struct view view = VIEW_INIT;
        view.form = json ? VIEW_JSON : events ? VIEW_EVENTS : VIEW_STREAM;

        _cleanup_(input_close) struct input input = INPUT_INIT;
        _cleanup_(api_error_freep) mai_error *error = NULL;
        _cleanup_(request_freep) mai_request *request = mai_request_new();
        if (!request) {
                (void)error_oom(&err);
                return report_error(&err);
        }
        bool program_is_input = command->main == run_main && strcmp(operands[0], "-") == 0;
        int r = request_apply_options(request, &options, &err, &error);
        if (r == 0)
                r = set_program(request, operands, count, &err, &error);
        if (r == 0)
                r = set_input(
                    request, option_list_value(&options, OPTION_STDIN), program_is_input, &input, &err);
        if (r < 0)
                return err.code != ERROR_NONE ? report_error(&err) : refuse(&view, error, request);

        mai_request_keep_output(request, view.form != VIEW_STREAM);
        mai_request_json_events(request, view.form == VIEW_EVENTS);
        status_line_init(&view.status_line,
            view.form == VIEW_STREAM && !option_list_value(&options, OPTION_NO_PROGRESS),
            option_list_value(&options, OPTION_TRUST));
        return run_request(&view, option_list_value(&options, OPTION_POLICY), request);
}
