# Both sides of the operator table, generated: sources and public headers below
# ${SOFTNPU_GENERATED}. They exist after configuring, so that the targets can list them, and are
# made again when a row, a template or the generator changes.
set(SOFTNPU_GENERATED ${CMAKE_BINARY_DIR}/generated)
set(operators_folder ${CMAKE_CURRENT_LIST_DIR}/../operators)
file(GLOB operators_inputs CONFIGURE_DEPENDS
  ${operators_folder}/*.py ${operators_folder}/table/*.yaml ${operators_folder}/templates/*)
set(operators_command
  ${CMAKE_COMMAND} -E env PYTHONPATH=${CMAKE_CURRENT_LIST_DIR}/.. TORCH_DEVICE_BACKEND_AUTOLOAD=0
  ${Python_EXECUTABLE} -m operators.generate --output ${SOFTNPU_GENERATED})

execute_process(COMMAND ${operators_command} RESULT_VARIABLE operators_failed)
if(operators_failed)
  message(FATAL_ERROR "the operator table was refused; the line above says why")
endif()
file(GLOB softcann_operators CONFIGURE_DEPENDS ${SOFTNPU_GENERATED}/softcann/*.cpp)
file(GLOB torch_npu_operators CONFIGURE_DEPENDS ${SOFTNPU_GENERATED}/torch_npu/*.cpp)

add_custom_command(
  OUTPUT ${SOFTNPU_GENERATED}/stamp
  BYPRODUCTS ${softcann_operators} ${torch_npu_operators}
  COMMAND ${operators_command}
  COMMAND ${CMAKE_COMMAND} -E touch ${SOFTNPU_GENERATED}/stamp
  DEPENDS ${operators_inputs}
  COMMENT "Generating operators")
add_custom_target(operators DEPENDS ${SOFTNPU_GENERATED}/stamp)
